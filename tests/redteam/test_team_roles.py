"""People of a team make Roles for their programs, and get no rights by them: each verb that writes, each way to name
somebody, and what a program could do to outlive its maker's rights."""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest

from components.objects.team_roles import BOUND, LASTING, PINNED
from contract.kubernetes.api import Api
from contract.kubernetes.connection import ApiError
from tests.redteam.team_cluster import OTHER, TEAM, TeamCluster
from tests.support.api_server import eventually
from tests.support.teams import Person

pytestmark = pytest.mark.engine

RBAC = "rbac.authorization.k8s.io"
ROLES, BINDINGS = (f"/apis/{RBAC}/v1/namespaces/{TEAM}/{resource}" for resource in ("roles", "rolebindings"))
IN_TEAM = f"--namespace={TEAM}"
HUB = {"kind": "ServiceAccount", "name": "hub", "namespace": TEAM}
LASTS = {"apiGroups": [""], "resources": ["serviceaccounts/token"], "verbs": ["create"]}
WAYS = {
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",
}


def role(*rules: dict[str, Any], name: str = "hub", **metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": "Role",
        "metadata": {"name": name, **metadata},
        "rules": [*rules],
    }


def binding(*subjects: dict[str, Any], name: str = "hub", to: str = "Role", **metadata: Any) -> dict[str, Any]:
    refers = {"apiGroup": RBAC, "kind": to, "name": "hub" if to == "Role" else "view"}
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": "RoleBinding",
        "metadata": {"name": name, **metadata},
        "roleRef": refers,
        "subjects": [*subjects],
    }


SMALL = role({"apiGroups": [""], "resources": ["pods"], "verbs": ["create", "get"]})


def write(api: Api, path: str, item: dict[str, Any], *, way: str, part: str) -> None:
    """Change an object into ``item``, whose last entry of ``part`` is new."""
    if way == "replace":
        api.put(path, item)
    elif way == "json":
        change: Any = [{"op": "add", "path": f"/{part}/-", "value": item[part][-1]}]
        api.send("PATCH", path, body=change, content_type="application/json-patch+json")
    else:
        query = {"fieldManager": "attack", "force": "true"} if way == "apply" else {}
        api.send("PATCH", path, body=item, query=query, content_type=WAYS[way])


@pytest.fixture(name="ada")
def _ada(cluster: TeamCluster) -> Iterator[Person]:
    """Return somebody who has given a program a role."""
    ada = cluster.person()
    ada.made(SMALL, dry=False)
    ada.made(binding(HUB), dry=False)
    yield ada
    for path in (f"{BINDINGS}/hub", f"{ROLES}/hub"):
        cluster.admin.delete(path)


@pytest.mark.parametrize("way", [*WAYS, "json", "replace"])
def test_a_role_and_a_binding_grow_by_no_way_of_writing(cluster: TeamCluster, ada: Person, way: str) -> None:
    eve = {"kind": "User", "name": "eve", "apiGroup": RBAC}
    api = ada.api()
    for path, now, part, message in (
        (f"{ROLES}/hub", role(*SMALL["rules"], LASTS), "rules", LASTING),
        (f"{BINDINGS}/hub", binding(HUB, eve), "subjects", BOUND),
    ):
        with pytest.raises(ApiError) as refusal:
            write(api, path, now, way=way, part=part)
        assert message in str(refusal.value)


@pytest.mark.parametrize("verb", ["bind", "escalate", "*"])
@pytest.mark.parametrize("resource", ["roles", "clusterroles", "*"])
def test_no_role_gives_the_right_to_give_rights(cluster: TeamCluster, ada: Person, verb: str, resource: str) -> None:
    rule = {"apiGroups": [RBAC], "resources": [resource], "verbs": [verb]}
    answer = ada.makes(role(rule, name="other"))
    assert LASTING in answer or "not currently held" in answer, answer


def test_no_other_verb_of_impersonation_is_given(ada: Person) -> None:
    for verb in ("impersonate", "impersonate:serviceaccount", "impersonate-on:serviceaccount:get"):
        rule = {"apiGroups": ["authentication.k8s.io", ""], "resources": ["serviceaccounts"], "verbs": [verb]}
        answer = ada.makes(role(rule, name="other"))
        assert LASTING in answer or "not currently held" in answer, answer


def test_a_name_that_the_server_makes_is_no_way_around(cluster: TeamCluster, ada: Person) -> None:
    api = ada.api()
    made = role(LASTS)
    made["metadata"] = {"generateName": "hub-"}
    with pytest.raises(ApiError, match="tokens"):
        api.post(ROLES, made)
    bound = binding({"kind": "Group", "name": "corp:speech", "apiGroup": RBAC})
    bound["metadata"] = {"generateName": "hub-"}
    with pytest.raises(ApiError, match="bind Roles"):
        api.post(BINDINGS, bound)
    for path in (ROLES, BINDINGS):
        with pytest.raises(ApiError, match="deletecollection"):
            api.send("DELETE", path)


def test_no_subject_is_anybody_else(ada: Person) -> None:
    others: tuple[dict[str, Any], ...] = (
        {"kind": "ServiceAccount", "name": "hub", "namespace": OTHER},
        {"kind": "ServiceAccount", "name": "job-controller", "namespace": "kube-system"},
        {"kind": "User", "name": f"system:serviceaccount:{TEAM}:hub", "apiGroup": RBAC},
        {"kind": "Group", "name": f"system:serviceaccounts:{TEAM}", "apiGroup": RBAC},
        {"kind": "Group", "name": "system:masters", "apiGroup": RBAC},
        {"kind": "Group", "name": "system:authenticated", "apiGroup": RBAC},
    )
    for other in others:
        for to in ("Role", "ClusterRole"):
            assert BOUND in ada.makes(binding(HUB, other, name="other", to=to)), other
    assert ada.made(binding(HUB, name="other", to="ClusterRole"))["kind"] == "RoleBinding"
    for kind, name in (
        ("ClusterRole", "edit"),
        ("ClusterRole", "cluster-admin"),
        ("ClusterRole", "longhaul:team-roles"),
    ):
        made = binding(HUB, name="other")
        made["roleRef"] |= {"kind": kind, "name": name}
        answer = ada.makes(made)
        assert BOUND in answer or "not currently held" in answer, answer


def test_a_label_for_aggregation_gives_nothing(cluster: TeamCluster, ada: Person) -> None:
    """Kubernetes aggregates ClusterRoles alone."""
    label = {"rbac.authorization.k8s.io/aggregate-to-edit": "true"}
    ada.made(role(*SMALL["rules"], name="other", labels=label), dry=False)
    before = json.dumps(cluster.server.get("clusterrole", "edit")["rules"])
    ada.kubectl("delete", IN_TEAM, "role/other")
    assert json.dumps(cluster.server.get("clusterrole", "edit")["rules"]) == before


def test_a_program_gives_no_rights_and_a_person_gains_none_as_one(cluster: TeamCluster, ada: Person) -> None:
    as_hub = f"--as=system:serviceaccount:{TEAM}:hub"
    may = lambda *words: ada.kubectl("auth", "can-i", *words, IN_TEAM, as_hub).strip().endswith("yes")  # noqa: E731
    eventually(lambda: may("create", "pods"), what="the program has its role")
    for words in (("create", "roles"), ("create", "rolebindings"), ("bind", "roles"), ("escalate", "roles")):
        assert not may(*words), words
    # Kubernetes lets people act as accounts of their namespace, and as nobody else.
    for who in ("system:serviceaccount:kube-system:job-controller", f"system:serviceaccount:{OTHER}:default", "eve"):
        answer = ada.kubectl("get", "pods", IN_TEAM, f"--as={who}")
        assert "cannot impersonate" in answer, answer
    answer = ada.kubectl("get", "pods", IN_TEAM, as_hub, "--as-group=system:masters")
    assert "cannot impersonate" in answer


def test_a_binding_ends_when_it_is_deleted(cluster: TeamCluster, ada: Person) -> None:
    """A finalizer keeps it, and its rights with it, after an administrator has deleted it."""
    pin = {"finalizers": ["example.com/pin"]}
    for what in ("role/hub", "rolebinding/hub"):
        assert PINNED in ada.changes(what, {"metadata": pin}), what
    for made in (role(name="other", **pin), binding(HUB, name="other", **pin)):
        assert PINNED in ada.makes(made)
    cluster.admin.patch(f"{ROLES}/hub", {"metadata": pin})
    # Who changes one that has a finalizer keeps it.
    changed = deepcopy(SMALL)
    changed["metadata"] |= {**pin, "labels": {"a": "b"}}
    assert "replaced" in ada.kubectl("replace", IN_TEAM, "--filename=-", stdin=changed)
    cluster.admin.patch(f"{ROLES}/hub", {"metadata": {"finalizers": None}})
