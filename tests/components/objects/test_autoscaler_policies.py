"""Writes of the autoscaler's user at a real API server, with every right that it has when it acts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from components.model.autoscaler.rights import leases
from components.model.secrets.certificates import AUTOSCALER_USER as USER
from components.objects.autoscaler_policies import FOREIGN_CORDON, NAME_REFUSAL, REFUSAL, names_policy
from contract.annotations import SCALE_IN
from contract.kubernetes.connection import ApiError
from contract.labels import POOL_LABEL
from lab.providers.kubernetes_client import ObjectClient
from lab.providers.kubernetes_config import load_access
from tests.support.api_server import ApiServer, eventually

pytestmark = pytest.mark.engine

NAME = "i-2"
NODE = f"/api/v1/nodes/{NAME}"
MERGE = "application/merge-patch+json"
NOTE = {SCALE_IN: "2026-03-01T11:55:00Z"}
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
CONFIGMAPS = "/api/v1/namespaces/kube-system/configmaps"


@pytest.fixture(name="autoscaler")
def _autoscaler(applied: ApiServer) -> Iterator[Path]:
    """Kubeconfig of the autoscaler's user, which may patch Nodes and make what it likes but for the policies."""
    rules = [
        {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "patch"]},
        {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create"]},
        {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["create"]},
    ]
    api = "rbac.authorization.k8s.io"
    role = {"apiVersion": f"{api}/v1", "kind": "ClusterRole", "metadata": {"name": "acts"}, "rules": rules}
    binding = {
        "apiVersion": f"{api}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "acts"},
        "roleRef": {"apiGroup": api, "kind": "ClusterRole", "name": "acts"},
        "subjects": [{"kind": "User", "name": USER, "apiGroup": api}],
    }
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": NAME, "labels": {POOL_LABEL: "cpu"}}}
    for item in (role, binding, node):
        applied.kubectl("apply", "--filename=-", stdin=json.dumps(item))
    kubeconfig = applied.user(USER)
    # One that still goes through changes nothing when it is sent again, and is no reason to refuse.
    others = ({"metadata": {"labels": {POOL_LABEL: f"other-{number}"}}} for number in count())
    eventually(lambda: REFUSAL in sent(kubeconfig, "PATCH", NODE, next(others)), what="the policies hold")
    applied.kubectl("label", "node", NAME, f"{POOL_LABEL}=cpu", "--overwrite")
    yield kubeconfig
    applied.kubectl("delete", "node", NAME)
    applied.kubectl("delete", "clusterrole,clusterrolebinding", "acts")


def sent(kubeconfig: Path, method: str, path: str, body: dict[str, Any]) -> str:
    """Return the API server's refusal; empty when it is done."""
    content = MERGE if method == "PATCH" else "application/json"
    try:
        ObjectClient(load_access(str(kubeconfig))).send(method, path, body=body, content_type=content)
    except ApiError as error:
        return str(error)
    return ""


def test_it_cordons_and_lifts_its_own_cordon(applied: ApiServer, autoscaler: Path) -> None:
    assert not sent(autoscaler, "PATCH", NODE, {"spec": {"unschedulable": True}, "metadata": {"annotations": NOTE}})
    assert applied.get("node", NAME)["spec"]["unschedulable"]
    lifted = {"spec": {"unschedulable": None}, "metadata": {"annotations": {SCALE_IN: None}}}
    assert not sent(autoscaler, "PATCH", NODE, lifted)


def test_it_lifts_nobody_else_s_cordon(applied: ApiServer, autoscaler: Path) -> None:
    applied.kubectl("cordon", NAME)
    assert FOREIGN_CORDON in sent(autoscaler, "PATCH", NODE, {"spec": {"unschedulable": None}})
    assert applied.get("node", NAME)["spec"]["unschedulable"]


@pytest.mark.parametrize(
    ("body", "what"),
    [
        ({"metadata": {"labels": {POOL_LABEL: "other"}}}, POOL_LABEL),
        ({"metadata": {"labels": {POOL_LABEL: None}}}, POOL_LABEL),
        ({"metadata": {"annotations": {"longhaul.dev/keep": "true"}}}, "longhaul.dev/keep"),
        ({"metadata": {"finalizers": ["example.com/stays"]}}, "finalizers"),
        ({"spec": {"taints": [{"key": "a", "effect": "NoExecute"}]}}, "taints"),
        ({"spec": {"providerID": "aws:///i-3"}}, "providerID"),
    ],
)
def test_of_a_node_it_changes_nothing_else(autoscaler: Path, body: dict[str, Any], what: str) -> None:
    assert f"{REFUSAL}: {what}" in sent(autoscaler, "PATCH", NODE, body)


@pytest.mark.parametrize(("path", "kind"), [(LEASES, "coordination.k8s.io/v1 Lease"), (CONFIGMAPS, "v1 ConfigMap")])
def test_it_makes_what_has_its_own_name_alone(applied: ApiServer, autoscaler: Path, path: str, kind: str) -> None:
    version, kind = kind.split()
    for name in ("kube-scheduler-2", "longhaul-roll-cpu"):
        body = {"apiVersion": version, "kind": kind, "metadata": {"name": name}}
        assert f"{NAME_REFUSAL} {name}" in sent(autoscaler, "POST", path, body), "it only looks in this environment"
    body = {"apiVersion": version, "kind": kind, "metadata": {"name": "longhaul-autoscaler"}}
    assert not sent(autoscaler, "POST", path, body)
    applied.kubectl("delete", kind, "longhaul-autoscaler", "--namespace=kube-system")


def test_one_that_acts_takes_the_leases_of_pools_too() -> None:
    (rule,) = names_policy(leases(["cpu"], acts=True))["validations"]
    assert "['longhaul-autoscaler', 'longhaul-roll-cpu']" in rule["expression"]
