"""The life of the objects' stack, from creation to removal: the real engine, the lab's plugin, a real API server."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from components.model.secrets.certificates import ADMINISTRATORS_GROUP
from contract.object_names import LOOKED_AT, LOOKED_AT_KEY
from tests.components.objects.stack import ONE_STATE, Stack
from tests.support.api_server import ApiServer, eventually
from tests.support.kubelets import Kubelets

pytestmark = pytest.mark.engine

SHORT = "from components.objects import dns\ndns.READY_S = 5\n"
OTHER = "from components.objects import dns\ndns.CLUSTER_DOMAIN = 'other.local'\n"
OURS = ("--selector", "app.kubernetes.io/managed-by=longhaul", "--all-namespaces", "--output", "name")
KINDS = (
    "all,configmaps,secrets,serviceaccounts,clusterroles,clusterrolebindings,roles,rolebindings,priorityclasses,"
    "poddisruptionbudgets,mutatingadmissionpolicies,mutatingadmissionpolicybindings,validatingadmissionpolicies,"
    "validatingadmissionpolicybindings"
)


@pytest.fixture(name="stack")
def _stack(tmp_path: Path, binaries: dict[str, Path], cluster: ApiServer) -> Stack:
    return Stack(tmp_path, pulumi=binaries["pulumi"], kubeconfig=cluster.kubeconfig)


@pytest.fixture(name="kubelets")
def _kubelets(cluster: ApiServer) -> Iterator[Kubelets]:
    found = Kubelets(cluster.kubeconfig)
    yield found
    found.stop()
    cluster.kubectl("delete", "nodes", "--all")


def test_what_is_not_there_yet_can_be_previewed(stack: Stack) -> None:
    """Neither the cluster nor the first stack's outputs have to exist."""
    preview = stack.objects("preview", kubeconfig="/nowhere")
    assert re.search(r"\+ \d\d to create", preview)
    assert "longhaul:join" in preview
    refused = stack.up(fails=True)
    assert "the infrastructure's stack has no output" in refused
    stack.build_infrastructure()
    assert "longhaul:join" in stack.objects("preview", kubeconfig="/nowhere")
    refused = stack.objects("up", "--yes", "--skip-preview", fails=True, kubeconfig="/nowhere")
    assert "KUBECONFIG is '/nowhere' and leads to no file" in refused


def test_production_can_be_previewed_from_anywhere(tmp_path: Path, binaries: dict[str, Path]) -> None:
    stack = Stack(tmp_path, pulumi=binaries["pulumi"], kubeconfig=Path("/nowhere"), env="prod")
    preview = stack.objects("preview")
    assert "longhaul:join" in preview
    assert re.search(r"\+ \d{2,} to create", preview)


def test_life(stack: Stack, cluster: ApiServer, kubelets: Kubelets) -> None:
    stack.build_infrastructure()
    stack.change(SHORT)
    late = stack.up(fails=True)
    assert "'coredns' timed out waiting to be Ready" in late
    assert "Minimum number of live Pods was not attained" in late
    assert "::".join(("kubernetes:apps/v1:Deployment", "coredns")) in stack.state(), "it is there, so it is kept"

    stack.change("")
    kubelets.start()
    assert "1 updated" in stack.up(), "nodes have come, and it is looked after"
    # Each run has a certificate of its own, and this one is an administrator's.
    another = str(cluster.user("anna@example.com", organizations=(ADMINISTRATORS_GROUP,)))
    stack.objects("preview", "--expect-no-changes", kubeconfig=another)
    stack.objects("refresh", "--yes", "--skip-preview", "--expect-no-changes", kubeconfig=another)
    text = json.dumps(stack.state())
    assert str(cluster.kubeconfig) not in text
    before = ours(cluster)
    assert "clusterrole.rbac.authorization.k8s.io/longhaul:join" in before

    drift(stack, cluster)
    assert ours(cluster) == before
    rollout(stack, cluster)
    forgotten(stack, cluster)
    destroyed = stack.objects("destroy", "--yes", "--skip-preview")
    assert re.search(r"- \d\d deleted", destroyed)
    assert cluster.kubectl("get", KINDS, *OURS) == ""


def ours(cluster: ApiServer) -> set[str]:
    """Return the names of our objects but pods: which of three a Deployment of two gives up is up to chance."""
    return {name for name in cluster.kubectl("get", KINDS, *OURS).split() if not name.startswith("pod/")}


def drift(stack: Stack, cluster: ApiServer) -> None:
    """Check that a refresh sees changed and deleted objects and that ``up`` restores them."""
    inside = ("--namespace", "kube-system")
    patch = json.dumps({"data": {"Corefile": "broken"}})
    cluster.kubectl("patch", "configmap", "coredns", *inside, "--type=merge", "--patch", patch, "--field-manager=me")
    said = json.dumps({"data": {LOOKED_AT_KEY: "true"}})
    cluster.kubectl("patch", "configmap", LOOKED_AT, *inside, "--type=merge", "--patch", said, "--field-manager=theirs")
    cluster.kubectl("delete", "service", "kube-dns", *inside)
    cluster.kubectl("scale", "deployment", "coredns", *inside, "--replicas=3")
    stack.objects("preview", "--expect-no-changes")
    seen = stack.objects("preview", "--refresh", "--diff")
    assert "broken" in seen
    assert "3 => 2" in seen
    changed = stack.up("--refresh")
    assert "1 created" in changed
    assert "2 updated" in changed
    found = cluster.get("configmap", "coredns", *inside)
    assert found["data"]["Corefile"].startswith(".:53")
    assert cluster.get("configmap", LOOKED_AT, *inside)["data"] == {LOOKED_AT_KEY: "true"}, (
        "the node controller's alone"
    )
    assert cluster.get("deployment", "coredns", *inside)["spec"]["replicas"] == 2
    stack.objects("preview", "--refresh", "--expect-no-changes")


def rollout(stack: Stack, cluster: ApiServer) -> None:
    """Check that a changed Corefile is updated in place, and that the update ends once the new pods are ready. Those of
    the two sites are not waited for."""
    stack.change(OTHER)
    inside = ("--namespace", "kube-system")
    uid = cluster.get("configmap", "coredns", *inside)["metadata"]["uid"]
    assert "4 updated" in stack.up()
    found = cluster.get("configmap", "coredns", *inside)
    assert "kubernetes other.local" in found["data"]["Corefile"]
    assert found["metadata"]["uid"] == uid

    def replicas() -> tuple[int, int, int]:
        status = cluster.get("deployment", "coredns", *inside)["status"]
        return status.get("updatedReplicas", 0), status.get("readyReplicas", 0), status["replicas"]

    assert replicas()[0] == 2
    # An old pod may end a moment later.
    eventually(lambda: replicas() == (2, 2, 2), what="the new pods alone are there")


def forgotten(stack: Stack, cluster: ApiServer) -> None:
    """Check that objects that the state does not know, as after a run that was killed, are taken over and cause no
    error."""
    # What the engine writes in the middle of a run is not the subject from here on.
    stack.environment |= ONE_STATE
    stack.objects("state", "delete", "--all", "--yes", "--force")
    assert re.search(r"\+ \d\d created", stack.up())
    stack.objects("preview", "--refresh", "--expect-no-changes")
    fields = cluster.get("configmap", "coredns", "--namespace", "kube-system", "--show-managed-fields")
    assert [one["manager"] for one in fields["metadata"]["managedFields"]] == ["longhaul"]
