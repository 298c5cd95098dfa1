"""Every resource that the program declares is valid by its cloud's published rules."""

from __future__ import annotations

import pytest

from tests.contracts import aws_model, sdk_types
from tests.contracts.aws_calls import CALLS, ELSEWHERE
from tests.contracts.aws_limits import AWS_LIMITS
from tests.contracts.azure_limits import AZURE_LIMITS, NAMES
from tests.contracts.contracts import UNCHECKED, faults, has_contract
from tests.contracts.environments import NAMES as ENVIRONMENTS
from tests.contracts.environments import declared
from tests.support.declared import Declared


@pytest.fixture(scope="module", name="resources")
def _resources() -> tuple[Declared, ...]:
    """Resources of every environment."""
    return tuple(one for name in ENVIRONMENTS for one in declared(name))


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_every_input_is_what_the_cloud_takes(environment: str) -> None:
    found = [str(fault) for one in declared(environment) for fault in faults(one)]
    assert not found, "\n".join(found)


def test_every_type_has_a_contract_or_a_reason(resources: tuple[Declared, ...]) -> None:
    types = {one.type for one in resources}
    assert not {type_ for type_ in types if not has_contract(type_)} - UNCHECKED.keys()
    assert all(one.reason for one in UNCHECKED.values())


def test_no_contract_is_of_a_type_that_nothing_declares(resources: tuple[Declared, ...]) -> None:
    types = {one.type for one in resources}
    assert CALLS.keys() | UNCHECKED.keys() <= types
    assert {f"azure-native:{name}" for name in NAMES} <= types


def test_nothing_is_said_to_go_elsewhere_that_nothing_gives(resources: tuple[Declared, ...]) -> None:
    given = {name for one in resources if one.type.startswith("aws:") for name in one.inputs}
    assert ELSEWHERE.keys() <= given


@pytest.mark.parametrize(("shape", "member"), AWS_LIMITS)
def test_aws_still_says_what_is_written_here(shape: str, member: str) -> None:
    assert AWS_LIMITS[shape, member].words in aws_model.documentation("ec2", shape, member)


def test_azure_still_says_what_is_written_here(resources: tuple[Declared, ...]) -> None:
    said = {**{key: limit.words for key, limit in AZURE_LIMITS.items()}, **sdk_types.OPEN}
    visited = {
        (of.__name__, name): of
        for one in resources
        if one.type.startswith("azure-native:")
        for of, name, _, _ in sdk_types.visit(sdk_types.arguments(one.type), one.inputs)
    }
    assert said.keys() <= visited.keys(), "a limit of a property that nothing gives"
    for (of, name), words in said.items():
        assert words in sdk_types.documentation(visited[of, name], name), f"{of}.{name}"
