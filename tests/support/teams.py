"""People of a team at a real API server, and what they make."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contract.kubernetes.api import Api
from contract.kubernetes.connection import ApiError
from tests.support.api_server import ApiServer
from tests.support.kubernetes_requests import Requests, refusal

JOB = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "train"},
    "spec": {
        "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "train", "image": "train:1"}]}},
        "suspend": True,
    },
}
ROLES = {
    "apiVersion": "jobset.x-k8s.io/v1alpha2",
    "kind": "JobSet",
    "metadata": {"name": "roles"},
    "spec": {"suspend": True, "replicatedJobs": [{"name": "a", "template": {"spec": JOB["spec"]}}]},
}


@dataclass(frozen=True, kw_only=True)
class Person:
    """Somebody of one team."""

    server: ApiServer
    team: str
    kubeconfig: Path

    def kubectl(self, *words: str, stdin: object = None) -> str:
        """Return what kubectl says, refusals too."""
        text = json.dumps(stdin) if stdin is not None else ""
        return self.server.kubectl(*words, kubeconfig=self.kubeconfig, stdin=text, check=False)

    def makes(self, item: dict[str, Any], *, namespace: str | None = None, dry: bool = True, **labels: str) -> Any:
        """Make an object, by default without an effect; return it, or the refusal."""
        labelled = {**item, "metadata": {**item["metadata"], **({"labels": labels} if labels else {})}}
        return self._requests().makes(labelled, namespace=namespace or self.team, dry=dry)

    def made(self, item: dict[str, Any], **more: Any) -> dict[str, Any]:
        """Make an object, as :meth:`makes` does, and return it."""
        said = self.makes(item, **more)
        assert isinstance(said, dict), said
        return said

    def changes(self, what: str, change: object, *, kind: str = "merge", dry: bool = False) -> str:
        """Change ``<kind>/<name>`` of the team by a patch; return that it is patched, or the refusal."""
        try:
            self._requests().patch(what, change, namespace=self.team, kind=kind, dry=dry)
        except ApiError as error:
            return refusal(error)
        return f"{what} patched"

    def may(self, verb: str, what: str, *, namespace: str = "default") -> bool:
        """Return whether the person may do it; ``what`` is as :meth:`Requests.may` has it."""
        return self._requests().may(verb, what, namespace=namespace)

    def _requests(self) -> Requests:
        return self.server.requests(self.kubeconfig)

    def api(self) -> Api:
        return api_of(self.server, self.kubeconfig)


def api_of(server: ApiServer, kubeconfig: Path) -> Api:
    """Return the API by a kubeconfig's certificate."""
    user = json.loads(kubeconfig.read_text())["users"][0]["user"]
    pem = (server.folder / user["client-certificate"]).read_text()
    issuer_ = (server.folder / "ca.crt").read_text()
    return Api(f"https://127.0.0.1:{server.port}", {"certificate": pem, "key": "", "issuer": issuer_})


def pod(name: str, *, gpus: int = 0, **spec: Any) -> dict[str, Any]:
    limits = {"resources": {"limits": {"nvidia.com/gpu": gpus}}} if gpus else {}
    containers = [{"name": "a", "image": "a:1", **limits}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": containers, **spec}}


def controller(server: ApiServer, name: str) -> Person:
    """Return a controller of Kubernetes, by the name of its account."""
    user = f"system:serviceaccount:kube-system:{name}-controller"
    binding = ("create", "clusterrolebinding", f"as-{name}", "--clusterrole=cluster-admin", f"--user={user}")
    server.kubectl(*binding, check=False)
    return Person(server=server, team="visual", kubeconfig=server.user(user))


def copies(kind: str) -> dict[str, Any]:
    """Return a Deployment, a StatefulSet or a ReplicaSet."""
    labels = {"app": "served"}
    template = {"metadata": {"labels": labels}, "spec": pod("served")["spec"]}
    spec = {"selector": {"matchLabels": labels}, "template": template}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "served"}, "spec": spec}


def owned_by_a_job(uid: str) -> dict[str, Any]:
    return {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": uid, "controller": True}


def of_a_job(item: dict[str, Any], uid: str) -> dict[str, Any]:
    """Return an object that says that a Job made it."""
    owner = owned_by_a_job(uid)
    return {**item, "metadata": {**item["metadata"], "ownerReferences": [owner]}}
