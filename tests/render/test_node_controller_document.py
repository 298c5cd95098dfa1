"""Settings of the node controller in each environment."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from components.model import Environment, load, plan
from components.render.node_controller_document import environment_document
from tests.render.conftest import cases
from tests.support.golden import Golden
from tests.support.hosts import EXAMPLES, production_with

LARGEST = 1024 * 1024
"""Maximum size of a ConfigMap in bytes (kubernetes.io, "ConfigMaps")."""


def environments() -> list[Environment]:
    """Return every environment of the tree."""
    return list({case.environment.name: case.environment for case in cases()}.values())


def role(environment: Environment) -> str:
    return f"arn:aws:iam::123456789012:role/{environment.name}-node-controller"


@pytest.mark.parametrize("environment", environments(), ids=lambda environment: environment.name)
def test_it_is_as_it_was(environment: Environment, golden: Golden) -> None:
    text = environment_document(environment, plan(environment), aws_role_arn=role(environment))
    golden(f"{environment.name}/environment.json", text)


def test_it_is_json_with_a_line_for_each_host(tmp_path: Path) -> None:
    environment = load(production_with(40, directory=tmp_path))
    text = environment_document(environment, plan(environment), aws_role_arn=role(environment))
    assert len(json.loads(text)["racks"]) == 40
    assert sum('"pods":' in line for line in text.splitlines()) == 40


def test_as_many_hosts_as_a_site_holds_fit_into_a_configmap(tmp_path: Path) -> None:
    environment = load(production_with(8192, directory=tmp_path))
    text = environment_document(environment, plan(environment), aws_role_arn=role(environment))
    assert len(text.encode()) < LARGEST * 0.75


def test_without_a_role_pools_in_aws_are_refused() -> None:
    environment = load(EXAMPLES / "Pulumi.prod.yaml")
    with pytest.raises(ValueError, match=r"pools cpu, .* no output node_controller_role"):
        environment_document(environment, plan(environment), aws_role_arn=None)


def test_without_aws_there_is_no_role() -> None:
    environment = load(EXAMPLES / "Pulumi.prod.yaml")
    azure = environment.model_copy(update={"pools": {"a": environment.pools["h100-azure"]}})
    assert json.loads(environment_document(azure, plan(azure), aws_role_arn=None))["aws_role"] is None
