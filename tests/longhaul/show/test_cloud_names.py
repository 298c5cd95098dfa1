"""The names that are shown beforehand are those that the program declares."""

from __future__ import annotations

import json

import pytest

from components.model import Environment
from longhaul.show.gather import gather_overview
from longhaul.show.text import LISTED, to_json, to_text
from tests.longhaul.show.environments import environment
from tests.model import make
from tests.support.declared import Declared
from tests.support.whole import declare_whole, with_few_machines

NAMED = {
    "resource group": ("azure-native:resources:ResourceGroup", "resourceGroupName"),
    "virtual network": ("azure-native:network:VirtualNetwork", "virtualNetworkName"),
    "vault": ("azure-native:keyvault:Vault", "vaultName"),
    "scale set": ("azure-native:compute:VirtualMachineScaleSet", "vmScaleSetName"),
    "VPC": ("aws:ec2/vpc:Vpc", "tags"),
    "role of nodes": ("aws:iam/instanceProfile:InstanceProfile", "name"),
    "auto scaling group": ("aws:autoscaling/group:Group", "name"),
}
"""Resource type and naming input for each name that is shown."""


def prefixed(prefix: str) -> Environment:
    """Return the example with a prefix, with pools on both clouds and only a few machines of each kind."""
    example = environment("hybrid")
    naming = example.naming.model_copy(update={"prefix": prefix})
    return with_few_machines(example.model_copy(update={"naming": naming}))


def named(resource: Declared, key: str) -> str:
    value = resource.inputs[key]
    return str(value["Name"] if key == "tags" else value)


@pytest.mark.parametrize("prefix", ["", "acme"])
def test_they_are_those_that_are_declared(prefix: str) -> None:
    shown = list(gather_overview(prefixed(prefix)).names)
    program = declare_whole(prefixed(prefix))
    for what, (type_, key) in NAMED.items():
        declared = {named(one, key) for one in program.of(type_)}
        assert declared, what
        assert {one.name for one in shown if one.what == what} == declared
    assert {one.what for one in shown} == set(NAMED)
    assert all(one.name.startswith(f"{prefix}-") for one in shown if prefix)


def test_what_is_there_already_is_called_as_it_is() -> None:
    shown = {one.what: one for one in gather_overview(environment("every-key")).names if one.existing}
    given = make.full()["sites"]
    assert shown["resource group"].name == given["weu"]["existing"]["resource_group"]
    assert shown["virtual network"].name == given["weu"]["existing"]["network"].rpartition("/")[2]
    assert shown["VPC"].name == given["use1"]["existing"]["vpc"]


def test_a_person_and_a_program_see_them() -> None:
    overview = gather_overview(prefixed("acme"))
    said = to_text(overview, cost="", everything=False, unicode=True)
    assert "  use1  auto scaling group of cpu        acme-hybrid-cpu\n" in said
    names = json.loads(to_json(overview, cost=None))["names"]
    assert {"site": "weu", "what": "resource group", "name": "acme-hybrid-weu", "pool": "", "existing": False} in names


def test_of_many_pools_the_first_are_shown() -> None:
    one = environment("hybrid")
    many = {f"cpu-{index}": one.pools["cpu"] for index in range(LISTED + 2)}
    overview = gather_overview(one.model_copy(update={"pools": many}))
    folded, whole = (to_text(overview, cost="", everything=all_, unicode=True) for all_ in (False, True))
    names = [said.partition("\nNames in the clouds\n")[2].count("auto scaling group of ") for said in (folded, whole)]
    assert names == [LISTED, LISTED + 2]
    assert "  use1  of 2 more pools " in folded
    assert "more pool" not in whole
