"""No namespace of the file answers for a top-level domain in other people's pods."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from components.model.identity.namespace_checks import top_level_domains
from components.model.loading.load import examine
from tests.model import make
from tests.model.files import only, write
from tests.model.make import issuer


def environment(**more: Any) -> dict[str, Any]:
    return make.minimal() | {"domain": "test.longhaul.acme"} | more


def bound(namespace: str, role: str) -> dict[str, Any]:
    """An environment whose group has a role in a namespace."""
    groups = {"corp:x": {"namespaces": {namespace: role}}}
    return environment(identity={"issuers": {"corp": issuer()}, "groups": groups})


@pytest.mark.parametrize("name", ["ai", "com", "dev", "team", "corp", "local", "localhost", "svc", "acme"])
def test_a_team_has_no_name_for_which_it_would_answer_in_all_pods(tmp_path: Path, name: str) -> None:
    pools = {"cpu": {"site": "weu", "machine_type": "Standard_D16s_v5", "max": 2}}
    team = {"groups": ["corp:x"], "shares": {"cpu": {}}}
    raw = environment(pools=pools, identity={"issuers": {"corp": issuer()}}, teams={name: team})
    problem = only(write(tmp_path, raw))
    assert (problem.key, problem.write) == (f"teams.{name}", f"another name, such as {name}-team")
    assert f"all pods look up X.{name} in this namespace first" in problem.wrong


def test_a_site_s_private_zones_are_not_answered_for(tmp_path: Path) -> None:
    raw = bound("factory", "edit")
    raw["sites"]["weu"] = make.AZURE | {"private_zones": ["git.factory"]}
    assert only(write(tmp_path, raw)).key == "identity.groups.corp:x.namespaces.factory"


@pytest.mark.parametrize("role", ["edit", "admin"])
def test_a_group_makes_no_services_in_such_a_namespace(tmp_path: Path, role: str) -> None:
    problem = only(write(tmp_path, bound("io", role)))
    assert problem.key == "identity.groups.corp:x.namespaces.io"
    assert "people of corp:x may make one" in problem.wrong


def test_where_administrators_alone_make_services_it_is_a_warning(tmp_path: Path) -> None:
    raw = bound("tools", "view") | {"pod_security": {"exempt_namespaces": ["monitoring", "network"]}}
    warnings = examine(write(tmp_path, raw)).warnings
    keys = [warning.key for warning in warnings if "in this namespace first" in warning.wrong]
    assert keys == ["identity.groups.corp:x.namespaces.tools", "pod_security.exempt_namespaces.1"]


def test_the_list_is_iana_s() -> None:
    domains = top_level_domains()
    assert domains > {"ai", "app", "com", "dev", "io", "org", "team", "vision", "xn--p1ai", "zw"}
    assert len(domains) > 1400
    assert not domains & {"acme", "research", "robotics", "speech", "monitoring", "visual"}
