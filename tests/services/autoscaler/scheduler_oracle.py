"""The pinned kube-scheduler as an oracle: the nodes on which it would run each waiting pod.

An extender (k8s.io/kube-scheduler, ``extender/v1``) is given the nodes that passed all filters of the scheduler, and
says which of them the scheduler may use. Where it allows none, nothing is bound, and the cluster stays as it is.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from contract.kubernetes.api import Api
from contract.kubernetes.paths import PODS
from tests.services.autoscaler.pod_features import Json
from tests.support.api_server import ApiServer, eventually

QUIET_S = 0.6
"""Time without a change after which the scheduler is taken to have nothing more to do, seconds."""


def schedulable_nodes(
    server: ApiServer, api: Api, first: frozenset[str] = frozenset()
) -> dict[str, tuple[frozenset[str], str]]:
    """Return the nodes that the scheduler finds for each pod that waits, by the pod's namespace and name, and what it
    says. It starts with all objects in its caches, so its answers are of one state. Pods named ``first`` have a higher
    priority than all others; it binds them."""
    with guided_scheduler(server, lambda pod, nodes: nodes if pod in first else frozenset()) as offered:
        messages = tried_pods(api)
    return {name: (offered.get(name, frozenset()), text) for name, text in messages.items() if name not in first}


def bound_pods(server: ApiServer, api: Api) -> dict[str, str]:
    """Let the scheduler bind pods. Return the pods' nodes by the pods' namespaces and names."""
    with _running(server, []):
        tried_pods(api)
    return {name_of(item): item["spec"]["nodeName"] for item in api.items(PODS) if item["spec"].get("nodeName")}


@contextmanager
def guided_scheduler(
    server: ApiServer, allow: Callable[[str, frozenset[str]], frozenset[str]], *, preempting: bool = False
) -> Iterator[dict[str, frozenset[str]]]:
    """Run a scheduler that uses only nodes that ``allow`` returns for a pod, by its namespace and name, and the nodes
    that passed the filters. Yield the latter, by pods. Only if it is ``preempting``, it makes room for pods, and keeps
    the nominations of those that wait for room."""
    with _extender(allow) as (url, offered):
        extender = {"urlPrefix": url, "filterVerb": "filter", "nodeCacheCapable": True, "httpTimeout": "60s"}
        with _running(server, [extender], disabled=() if preempting else ("*",)):
            yield offered


def settled_pods(api: Api) -> dict[str, str]:
    """Wait until the scheduler has tried each pod and no pod changes for a moment. Return what it says of those that it
    does not bind."""
    eventually(lambda: not _untried(api) and _is_quiet(api), what="the scheduler has bound pods and ended others")
    return tried_pods(api)


def _is_quiet(api: Api) -> bool:
    """Return whether no pod changes for a moment."""
    before = [item["metadata"]["resourceVersion"] for item in api.items(PODS)]
    time.sleep(QUIET_S)
    return before == [item["metadata"]["resourceVersion"] for item in api.items(PODS)]


def tried_pods(api: Api) -> dict[str, str]:
    """Wait until the scheduler has tried each pod. Return what it says of those that it does not bind."""
    eventually(lambda: not _untried(api), what="the scheduler has tried each pod")
    return {name_of(item): text for item in api.items(PODS) if (text := message_of(item)) is not None}


@contextmanager
def _running(server: ApiServer, extenders: list[Json], *, disabled: Sequence[str] = ("*",)) -> Iterator[None]:
    """Run the scheduler without the plugins ``disabled`` after its filters. It writes anew what it says of pods."""
    configuration = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": False},
        "clientConnection": {"kubeconfig": str(server.kubeconfig), "qps": 1000, "burst": 1000},
        "profiles": [{"plugins": {"postFilter": {"disabled": [{"name": name} for name in disabled]}}}],
        "extenders": extenders,
    }
    path = server.folder / "scheduler.json"
    path.write_text(json.dumps(configuration), encoding="utf-8")
    _forget_messages(server.client(timeout_s=30.0))
    with server.scheduler(path):
        yield


def _forget_messages(api: Api) -> None:
    """Remove what an earlier scheduler said of pods: a scheduler that says the same writes nothing. The API server says
    once of a pod that it has a gate."""
    for item in api.items(PODS):
        if message_of(item) is not None and not item["spec"].get("schedulingGates"):
            namespace, name = item["metadata"]["namespace"], item["metadata"]["name"]
            removed = {"status": {"conditions": [{"type": "PodScheduled", "$patch": "delete"}]}}
            api.patch(f"/api/v1/namespaces/{namespace}/pods/{name}/status", removed, strategic=True)


def _untried(api: Api) -> int:
    """Return the number of pods that the scheduler has not tried yet."""
    return sum(not item["spec"].get("nodeName") and message_of(item) is None for item in api.items(PODS))


def message_of(item: Json) -> str | None:
    """Return what the scheduler says of a pod that it does not bind."""
    for condition in item.get("status", {}).get("conditions") or ():
        if condition["type"] == "PodScheduled" and condition["status"] == "False":
            return str(condition.get("message", ""))
    return None


def name_of(item: Json) -> str:
    """Return namespace and name of an object."""
    return f"{item['metadata']['namespace']}/{item['metadata']['name']}"


@contextmanager
def _extender(
    allow: Callable[[str, frozenset[str]], frozenset[str]],
) -> Iterator[tuple[str, dict[str, frozenset[str]]]]:
    """Run an extender. Yield its address, and the nodes that it was offered for each pod."""
    offered: dict[str, frozenset[str]] = {}

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            pod = name_of(asked.get("pod") or asked["Pod"])
            nodes = frozenset(asked.get("nodenames") or asked.get("NodeNames") or ())
            offered[pod] = nodes
            allowed = allow(pod, nodes) & nodes
            refused = dict.fromkeys(sorted(nodes - allowed), "only asked")
            # It does not look there for pods that could make way.
            body = json.dumps({"nodenames": sorted(allowed), "failedAndUnresolvableNodes": refused}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            # The scheduler asks again and again, and ends while it does.
            with suppress(ConnectionError):
                self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Write no log."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}", offered
        finally:
            server.shutdown()
            thread.join()
