"""Environments whose resources are all checked against the clouds' contracts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import yaml

from components.environment.cluster import Cluster
from components.model import Environment, load
from components.model.loading.load import parse
from tests.contracts.there import aws_parts, azure_parts, teller
from tests.support.declared import Declared, Program, declare, plain
from tests.support.hosts import stack_file
from tests.support.whole import cloud, declare_objects, without_hooks

LONG = "a-longer-environment"
"""A name of the maximum length."""
RESERVATIONS = "/resourceGroups/rg-reserved/providers/Microsoft.Compute/capacityReservationGroups"
PREFIX = "research"
"""Prefix with which the names of nodes reach their maximum length."""


def everything() -> Environment:
    """Return an environment with every feature that makes other resources or other properties, and longer names. In
    each cloud, one site uses existing parts, and another uses none."""
    raw = yaml.safe_load(stack_file("prod").read_text(encoding="utf-8"))["config"]["longhaul:environment"]
    kept, pools = raw["sites"], raw["pools"]
    azure, aws = kept["weu"], kept["use1"]
    azure_there = azure_parts(azure["subscription"], raw["domain"])
    raw["sites"] = {
        "weu": {**azure, "zones": ["2", "1"], "range": "10.0.0.0/16", "existing": azure_there},
        "neu-again": {**azure, "region": "northeurope", "zones": ["1"]},
        "sin-with-a-long-name": {
            **aws,
            "region": "ap-southeast-1",
            "zones": ["a", "b", "c"],
            "range": "10.2.0.0/16",
            "account": "123456789012",
            "existing": aws_parts(),
        },
        "usw2": {**aws, "region": "us-west-2", "zones": ["a", "b"]},
        "colo": kept["colo"],
    }
    large = {"site": "weu", "machine_type": "Standard_ND96isr_H100_v5"}
    raw["pools"] = {
        "spot-in-azure": {**large, "machine_type": "Standard_NC24ads_A100_v4", "spot": True, "max": 64, "priority": 5},
        "several-sets": {**large, "min": 1, "max": 250, "fallbacks": ["far"]},
        "in-a-block": {
            **pools["h100"],
            "site": "usw2",
            "zones": ["a"],
            "system_disk_gib": 500,
            "fallbacks": [],
            "efa": True,
        }
        | {"reservation": {"id": "cr-0123456789abcdef0", "kind": "capacity-block"}},
        "of-a-group": {**pools["h100"], "site": "usw2", "fallbacks": [], "zones": ["b"], "placement_group": True}
        | {"reservation": {"id": "arn:aws:resource-groups:us-west-2:123456789012:group/training"}},
        "azure-reserved": {"site": "weu", "machine_type": "Standard_NC24ads_A100_v4", "max": 4, "zones": ["1"]}
        | {
            "reservation": {"id": f"/subscriptions/{azure['subscription']}{RESERVATIONS}/training"},
            "system_disk_gib": 256,
        },
        "far": {**pools["h100-spot"], "site": "sin-with-a-long-name", "huge_pages_gib": 64, "fallbacks": []},
        "near-with-long-name": {**pools["h100"], "site": "usw2", "fallbacks": ["spot-in-azure"]},
    }
    raw["control_plane"]["etcd"]["learner"] = {"zone": "1", "machine_type": "Standard_D8s_v5"}
    raw["control_plane"]["api"]["port"] = 443
    raw["vpn"] = {"machine_type": "Standard_D2s_v5"}
    raw |= {"name": LONG, "tags": {"owner": "research"}, "naming": {"prefix": PREFIX}}
    raw["links"] = [
        {"between": ["neu-again", site], "kind": "existing"} for site in ("sin-with-a-long-name", "usw2", "colo")
    ]
    return parse(raw, source=stack_file("prod"), stack=LONG)


def environments() -> Mapping[str, Environment]:
    """Return the environments by name."""
    tree = {name: load(stack_file(name)) for name in ("prod", "lab")}
    return {**tree, "everything": everything()}


NAMES = ("prod", "lab", "everything")


@cache
def declared(name: str) -> tuple[Declared, ...]:
    """Return every resource of both stacks of one of :func:`environments` as the engine gets it, secrets unwrapped."""
    environment = environments()[name]
    return tuple(map(_plain, (*infrastructure(environment).clouds(), *declare_objects(environment).clouds())))


def infrastructure(environment: Environment) -> Program:
    """Declare the first stack, control plane of full size included."""
    with without_hooks():
        return declare(lambda: Cluster(environment).outputs, answer=_answer, told=teller(environment))


def _answer(resource: Declared) -> dict[str, Any]:
    """Return a cloud's outputs for a resource, with the name and ARN that other resources refer to."""
    return {"name": _own_name(resource), "arn": f"arn:aws:test:::{resource.name}", **cloud(resource)}


def _own_name(resource: Declared) -> str:
    kind = resource.type.rpartition(":")[2]
    names = (name for name in resource.inputs if name.lower() in (f"{kind}name".lower(), "resourcename", "name"))
    return str(resource.inputs.get(next(names, ""), resource.name))


def _plain(resource: Declared) -> Declared:
    """Return a resource without secret markers, and without what has no value: the plugins leave that out."""
    known = {name: value for name, value in plain(resource.inputs).items() if value is not None}
    return replace(resource, inputs=known)
