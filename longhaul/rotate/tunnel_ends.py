"""Ends of tunnels between sites in a rotation of their keys: the engine changes the ends in clouds, and Ansible the
ends in racks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from clouds.base.resource_types import ResourceKind, without_version
from clouds.registry import clouds
from components.model import plan
from longhaul.judgement.environment_parts import TUNNEL_KEY
from longhaul.racks.inventory import GATEWAYS, machines
from longhaul.racks.playbook_runs import RunOptions, roll
from longhaul.racks.text import to_text
from longhaul.rotate.stack import AGAIN, Stack
from longhaul.rotate.tunnels import KeyedTunnel
from longhaul.terminal.exits import CommandError, Exit


def tunnels_in(resources: Sequence[Mapping[str, Any]]) -> tuple[KeyedTunnel, ...]:
    """Return the tunnels among a state's resources. The resources that get a tunnel's key depend on the key's resource,
    directly or indirectly. Raise ``ValueError`` when a tunnel's key has no resource yet."""
    keys = [resource for resource in resources if resource["type"] == TUNNEL_KEY]
    kinds = {token: kind for cloud in clouds().values() for token, kind in cloud.resources.kinds().items()}
    ends = [resource for resource in resources if kinds.get(without_version(resource["type"])) is ResourceKind.TUNNEL]
    users = {key["urn"]: tuple(_depending(ends, key["urn"])) for key in keys}
    known = {urn for urns in users.values() for urn in urns}
    carrying = [end["urn"] for end in ends if _has_key(end) and end["urn"] not in known]
    if carrying:
        names = ", ".join(urn.rpartition("::")[2] for urn in carrying)
        raise ValueError(f"the keys of {names} are not known yet")
    return tuple(
        KeyedTunnel(
            secret=str(key["inputs"]["secret"]),
            resource=key["urn"],
            users=users[key["urn"]],
            of_cloud=bool(key["inputs"].get("of_cloud")),
        )
        for key in keys
    )


def _depending(ends: Iterable[Mapping[str, Any]], urn: str) -> list[str]:
    """Return the tunnels' resources that depend on a resource, in the state's order, in which dependencies come
    first."""
    urns = [urn]
    for end in ends:
        if set(urns) & set(end.get("dependencies") or ()):
            urns.append(end["urn"])
    return urns[1:]


def _has_key(resource: Mapping[str, Any]) -> bool:
    """Return whether a tunnel's resource has a key. A connection has a key; the resource with the address of the
    connection's other end has none."""
    properties = {**(resource.get("inputs") or {}), **(resource.get("outputs") or {})}
    return any(name.lower().endswith(("sharedkey", "shared_key")) for name in properties)


@dataclass(frozen=True, kw_only=True)
class StackTunnelEnds:
    """The ends in an environment's stack, as ``tunnels.Ends``."""

    stack: Stack

    def tunnels(self) -> tuple[KeyedTunnel, ...]:
        """Return the tunnels in the state."""
        try:
            return tunnels_in(self.stack.resources())
        except ValueError as error:
            env = self.stack.environment.name
            raise CommandError(f"{error}: `longhaul up --env {env}` makes them known") from None

    def apply(self, resources: Iterable[str]) -> None:
        """Run the engine on some resources, with the vault's present keys."""
        self.stack.apply(resources, what="keys of tunnels")

    def settle_gateways(self) -> None:
        """Run Ansible on the gateways of racks, whose role waits for a tunnel to each site."""
        stack = self.stack
        there = [
            machine for machine in machines(stack.environment, plan(stack.environment)) if machine.group == GATEWAYS
        ]
        if not there:
            return
        with stack.log.open("ab") as log:
            asked = RunOptions(words=[], look=False, budget=0, stdout=log)
            account = roll(stack.where, stack.environment, [there], asked, stack.environ, limited=True)
        if account.exit_code() is not Exit.OK:
            text = to_text(stack.where.env, "run", account, colour=False)
            reason = f"not all gateways have their keys and tunnels\n{text}\n{AGAIN}; {stack.log}"
            raise CommandError(reason, code=account.exit_code())
