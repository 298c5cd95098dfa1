"""An environment of stand-ins under the product's own guards: one network for each site, and a secret."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from pulumi import ComponentResource, Output, ResourceOptions
from pulumi.dynamic import CreateResult, DiffResult, Resource, ResourceProvider
from pulumi.runtime import register_stack_transformation

from clouds.base import policy_rules
from clouds.base.policy import Check, unaccounted_address
from clouds.base.resource_types import Lasting
from components.control_plane.guard import DestructionGuard, confirmed
from components.guards import immutable as immutable_guard
from components.guards.policies import enforcing
from components.model import Environment, parse, plan
from components.model.policy import judging
from contract.tag_keys import SITE

ENVIRONMENT = Path("environment.json")
"""File with the environment, in place of the stack file."""

NETWORK = "pulumi-python:dynamic/stand-in:Network"
PARTS = "PARTS"
"""Variable with the parts that the program has: ``guards``, ``secret``, ``policies`` and ``bastion``."""


RANGE = "RANGE"
"""Variable with a property of the bastion."""


class Provider(ResourceProvider):
    """Makes nothing. A changed range replaces the network."""

    serialize_as_secret_always = False

    def create(self, props: dict[str, Any]) -> CreateResult:
        return CreateResult(id_="made", outs=props)

    def diff(self, _id: str, olds: dict[str, Any], news: dict[str, Any]) -> DiffResult:
        differ = olds.get("range") != news.get("range")
        return DiffResult(changes=differ, replaces=["range"] if differ else [], delete_before_replace=True)


class Network(Resource, module="stand-in", name="Network"):
    def __init__(self, name: str, *, site: str, range_: str, opts: ResourceOptions) -> None:
        super().__init__(Provider(), name, {"tags": {SITE: site}, "range": range_}, opts)


class Secret(Resource, module="longhaul", name="Secret"):
    """A secret with the type of the product's."""

    def __init__(self, name: str, *, opts: ResourceOptions) -> None:
        super().__init__(Provider(), name, {}, opts)


class Address(Resource, module="stand-in", name="Address"):
    """A public address, which a policy has to find."""

    def __init__(self, name: str, *, of: Output[str], opts: ResourceOptions) -> None:
        properties = {"of": of, "secret": Output.secret("hidden"), "range": os.environ.get(RANGE, "one")}
        super().__init__(Provider(), name, properties, opts)


class Whole(ComponentResource):
    """Component above all others, which waits for the guards as the one in ``components/environment/cluster.py``
    does."""

    def __init__(self, environment: Environment, parts: set[str]) -> None:
        addresses = plan(environment)
        opts = immutable_guard.holding(environment, addresses) if "guards" in parts else None
        super().__init__("longhaul:Cluster", environment.name, None, opts)
        child = ResourceOptions(parent=self)
        made: list[Resource] = [
            Network(f"{environment.name}-{name}", site=name, range_=str(site.block), opts=child)
            for name, site in addresses.sites.items()
        ]
        if "secret" in parts:
            made.append(Secret(f"{environment.name}-encryption", opts=child))
        if "bastion" in parts:
            made.append(Address(f"{environment.name}-bastion", of=made[0].urn, opts=child))
        DestructionGuard(
            f"{environment.name}-guard",
            environment=environment.name,
            destroyable=environment.destroyable,
            opts=ResourceOptions(parent=self, depends_on=made),
        )


def main() -> None:
    """As ``stacks/__main__.py``."""
    lasting = {**immutable_guard.lasting(), NETWORK: Lasting(why="everything is in it", with_site=True)}
    immutable_guard.lasting = lambda: lasting
    raw = json.loads(ENVIRONMENT.read_text(encoding="utf-8"))
    environment = parse(raw, source=ENVIRONMENT, stack=raw["name"])
    if environment.destroyable and confirmed(environment.name):
        immutable_guard.keeps(environment)
        return
    parts = set(os.environ[PARTS].split())
    if "policies" in parts:
        kinds = frozenset({"pulumi-python:dynamic/stand-in:Address"})
        address = Check(rule=policy_rules.PUBLIC_ADDRESS, kinds=kinds, look=unaccounted_address)
        judging.checks = lambda: (address,)
        register_stack_transformation(enforcing(environment))
    Whole(environment, parts)
