"""Rights of the groups of people who sign in."""

from __future__ import annotations

from typing import Any

import pytest

from components.model import Environment
from components.model.identity.section import Identity
from tests.model.make import issuer
from tests.support.declared import Declared, Program, plain
from tests.support.whole import declare_objects

GROUPS = {
    "corp:ml": {"everywhere": "view", "namespaces": {"research": "edit", "shared": "view"}},
    "corp:a/b::c %": {"namespaces": {"research": "admin"}},
    "corp:operators": {"everywhere": "cluster-admin"},
}


@pytest.fixture(scope="module", name="program")
def _program(production: Environment) -> Program:
    identity = Identity.model_validate({"issuers": {"corp": issuer()}, "groups": GROUPS})
    return declare_objects(production.model_copy(update={"identity": identity}))


def of_groups(program: Program, kind: str) -> list[Declared]:
    found = [one for one in program.clouds() if one.inputs.get("kind") == kind]
    return [one for one in found if plain(one.inputs)["metadata"]["labels"]["app.kubernetes.io/name"] == "groups"]


def bound(program: Program, kind: str) -> set[tuple[Any, ...]]:
    found = [plain(one.inputs) for one in of_groups(program, kind)]
    return {
        (one["subjects"][0]["name"], one["roleRef"]["name"], one["metadata"].get("namespace"), len(one["subjects"]))
        for one in found
    }


def test_a_group_has_the_roles_that_the_file_gives_it_and_no_others(program: Program) -> None:
    assert bound(program, "ClusterRoleBinding") == {
        ("corp:ml", "view", None, 1),
        ("corp:operators", "cluster-admin", None, 1),
    }
    assert bound(program, "RoleBinding") == {
        ("corp:ml", "edit", "research", 1),
        ("corp:ml", "view", "shared", 1),
        ("corp:a/b::c %", "admin", "research", 1),
    }


def test_a_binding_s_name_says_its_role_and_is_one_that_kubernetes_takes(program: Program) -> None:
    """Names of RBAC's objects are parts of paths (k8s.io/apimachinery, ``path.IsValidPathSegmentName``)."""
    for kind in ("ClusterRoleBinding", "RoleBinding"):
        for one in map(plain, (one.inputs for one in of_groups(program, kind))):
            name = one["metadata"]["name"]
            assert name.endswith(f":{one['roleRef']['name']}")
            assert not {"/", "%", " "} & set(name)
            assert one["metadata"]["annotations"]["longhaul.dev/group"] == one["subjects"][0]["name"]


def test_namespaces_are_made_once_before_what_is_in_them_and_outlive_it(program: Program) -> None:
    namespaces = of_groups(program, "Namespace")
    assert {plain(one.inputs)["metadata"]["name"] for one in namespaces} == {"research", "shared"}
    assert len(namespaces) == 2
    for one in of_groups(program, "RoleBinding"):
        assert f"longhaul-namespace-{plain(one.inputs)['metadata']['namespace']}" in one.after


def test_who_names_no_groups_has_no_bindings(production: Environment) -> None:
    assert of_groups(declare_objects(production), "ClusterRoleBinding") == []
