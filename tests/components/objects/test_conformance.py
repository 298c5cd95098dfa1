"""Namespaces of Kubernetes' conformance tests: host network is refused there, and the documented policy lets it in."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.api_server import ApiServer, eventually
from tests.support.documented import manifests, pages
from tests.support.hosts import STACKS

pytestmark = pytest.mark.engine

PAGE = "docs/security.md"
FRAMEWORK = "e2e-framework"
"""Label that the test program gives its namespaces, with the name of the group of specs
(``test/e2e/framework/framework.go``)."""
GROUPS = ("pod-network-test", "hostport", "e2e-kubelet-etc-hosts")
ANOTHER = "services"


def namespace(cluster: ApiServer, group: str, name: str) -> str:
    """Make a namespace as the test program does for specs that want everything; return its name."""
    labels = {FRAMEWORK: group, **{f"pod-security.kubernetes.io/{mode}": "privileged" for mode in ("enforce", "warn")}}
    made = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}
    cluster.kubectl("create", "--filename=-", stdin=json.dumps(made))
    there = ("get", "serviceaccounts", "default", f"--namespace={name}", "--ignore-not-found", "--output=name")
    eventually(lambda: cluster.kubectl(*there), what="the namespace has its service account")
    return name


def answer(cluster: ApiServer, name: str) -> str:
    """Return the API server's answer to a pod in its node's network."""
    spec: dict[str, Any] = {"hostNetwork": True, "containers": [{"name": "a", "image": "a"}]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "host-test", "namespace": name}, "spec": spec}
    words = ("create", "--dry-run=server", "--filename=-")
    return cluster.kubectl(*words, stdin=json.dumps(pod), check=False)


def is_labelled(cluster: ApiServer) -> bool:
    """Return whether a new namespace would get the label."""
    made = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "asked", "labels": {FRAMEWORK: GROUPS[0]}}}
    words = ("create", "--dry-run=server", "--output=json", "--filename=-")
    return "longhaul.dev/host-network" in cluster.kubectl(*words, stdin=json.dumps(made))


def test_the_label_that_is_documented_lets_such_specs_run(applied: ApiServer) -> None:
    for group in GROUPS:
        assert "could read the node's credentials" in answer(applied, namespace(applied, group, f"{group}-1"))
    shown = [found.document for found in manifests(PAGE, pages(STACKS.parent)[PAGE])]
    policies = [document for document in shown if document["kind"].startswith("MutatingAdmissionPolicy")]
    assert len(policies) == 2
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": policies})
    applied.kubectl("create", "--filename=-", stdin=text)
    try:
        eventually(lambda: is_labelled(applied), what="the policy is in force")
        for group in GROUPS:
            assert " created" in answer(applied, namespace(applied, group, f"{group}-2"))
        assert "could read the node's credentials" in answer(applied, namespace(applied, ANOTHER, f"{ANOTHER}-2"))
    finally:
        applied.kubectl("delete", "--filename=-", stdin=text)
