"""Finds changes of addresses that machines use, or at which machines are reached."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from clouds.base.inputs import UNKNOWN
from clouds.base.resource_types import ResourceKind
from clouds.registry import clouds
from components.model import Environment, plan
from components.model.hosts.places import gateway_places, host_places
from longhaul.judgement.changes import Change, ResourceAction
from longhaul.judgement.environment_parts import EnvironmentParts
from longhaul.judgement.resource_kinds import kind_of

_RANGES_OF_OUR_OWN: Mapping[str, tuple[str, ...]] = {
    "pulumi-python:dynamic/longhaul:Certificate": ("addresses",),
}
"""Properties with a resource's ranges and addresses, by type; each cloud declares its own types. A certificate has the
addresses of its holder: machine, load balancer, the `kubernetes` service."""


@cache
def _ranges() -> Mapping[str, tuple[str, ...]]:
    """Return the properties with ranges and addresses for all types. Each cloud's types keep the order of their
    list."""
    of_clouds = (enumerate(cloud.resources.ranges().items()) for cloud in clouds().values())
    ranked = sorted((rank for ranks in of_clouds for rank in ranks), key=lambda rank: rank[0])
    return {**dict(entry for _, entry in ranked), **_RANGES_OF_OUR_OWN}


@dataclass(frozen=True, kw_only=True)
class Moved:
    """A range or an address that changes or disappears."""

    what: str
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.what}: {self.before} -> {self.after}"


def moved_in_state(changes: Iterable[Change], *, places: EnvironmentParts, staying: Container[str]) -> Iterator[Moved]:
    """Yield the ranges and addresses in the state that the change gives up, whole networks first. A destroyed resource
    counts only if it is a network in a site that stays."""
    order = {token: index for index, token in enumerate(_ranges())}
    for change in sorted(changes, key=lambda candidate: order.get(candidate.type, len(order))):
        if change.action is ResourceAction.DESTROY:
            if kind_of(change) is not ResourceKind.NETWORK or places.of(change).site not in staying:
                continue
        elif change.action not in (ResourceAction.CHANGE, ResourceAction.REPLACE):
            continue
        for path in _ranges().get(change.type, ()):
            old, new = _values(change.before, path), _values(change.after, path)
            lost = [value for value in old if value not in new]
            if lost and UNKNOWN not in new:
                gained = [value for value in new if value not in old]
                yield Moved(what=change.name, before=", ".join(lost), after=", ".join(gained) or "none")


def moved_in_files(before: Environment, after: Environment) -> Iterator[Moved]:
    """Yield the ranges and addresses that differ between the earlier file and the present file."""
    old, new = plan(before), plan(after)
    pairs: dict[str, tuple[object, object]] = {
        "supernet": (old.supernet, new.supernet),
        "services": (old.services, new.services),
        "operators": (old.operators, new.operators),
    }
    pairs |= {f"site {name}": (old.sites[name].block, new.sites[name].block) for name in old.sites if name in new.sites}
    gateways = {place.name: place.address for place in gateway_places(after, new)}
    for gateway in gateway_places(before, old):
        pairs[f"gateway {gateway.name}"] = (gateway.address, gateways.get(gateway.name, gateway.address))
    hosts = {place.name: place for place in host_places(after, new)}
    for host in host_places(before, old):
        now = hosts.get(host.name, host)
        pairs[f"host {host.name}"] = (f"{host.address}, pods {host.pods}", f"{now.address}, pods {now.pods}")
    yield from (Moved(what=what, before=str(was), after=str(now)) for what, (was, now) in pairs.items() if was != now)


def _values(inputs: Mapping[str, Any], path: str) -> list[str]:
    """Return the value or values at a path; empty when nothing is there."""
    inner: Any = inputs
    for part in path.split("."):
        inner = inner.get(part) if isinstance(inner, Mapping) else None
    if isinstance(inner, list):
        return [str(value) for value in inner]
    return [] if inner is None else [str(inner)]
