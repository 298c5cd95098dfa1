"""Finds the place of a change from names and the program's tags: the site, and the machine, pool or link in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import permutations
from typing import Any

from clouds.registry import clouds
from components.model import Environment, control_machines, plan
from contract.project import OBJECTS
from contract.tag_keys import POOL, SITE
from longhaul.judgement.changes import Change

ENVIRONMENT = "the environment"
LINKS = "links"
ON_THE_CLUSTER = "on the cluster"
"""Place of the second stack's resources."""

_MACHINE = "longhaul:azure:ControlMachine"
_LINKS = "longhaul:Links"
TUNNEL_KEY = "pulumi-python:dynamic/longhaul:TunnelKey"
"""Type of the resource with a tunnel's keys."""


@dataclass(frozen=True, kw_only=True, order=True)
class EnvironmentPart:
    """A part of the environment."""

    site: str
    """A site's name, or :data:`LINKS`, :data:`ON_THE_CLUSTER` or :data:`ENVIRONMENT`."""
    part: str = ""
    """Name of a machine, a pool or a link; empty for the site itself."""
    kind: str = ""
    """``machine``, ``pool`` or ``link``; empty for the site itself."""


@dataclass(frozen=True, kw_only=True)
class EnvironmentParts:
    """Parts of an environment, before and after a change."""

    environment: str
    sites: tuple[str, ...]
    """Sites in the file's order, then the removed sites."""
    control_site: str
    machines: frozenset[str]
    pools: Mapping[str, str]
    """Site of each pool, by pool."""
    links: tuple[str, ...]

    def of(self, change: Change) -> EnvironmentPart:
        """Return the part that a change belongs to."""
        if change.stack.endswith(OBJECTS):
            return EnvironmentPart(site=ON_THE_CLUSTER)
        kinship, name = change.kinship, change.name.removeprefix(f"{self.environment}-")
        if _LINKS in kinship or change.type == TUNNEL_KEY:
            link = _longest(name.removeprefix("links-").removeprefix("tunnel-"), self.links)
            site = _longest(name.removeprefix("links-"), self.sites)
            return self._link(link, site)
        tags = _tags(change)
        if any(f"longhaul:{kind}:Pool" in kinship for kind in clouds()):
            pool = _longest(name, self.pools) or tags.get(POOL, "")
            return EnvironmentPart(site=tags.get(SITE) or self.pools.get(pool, ENVIRONMENT), part=pool, kind="pool")
        machine = _longest(change.name, self.machines)
        if machine:
            return EnvironmentPart(site=self.control_site, part=machine, kind="machine")
        if "longhaul:ControlPlane" in kinship:
            return EnvironmentPart(site=self.control_site)
        site = tags.get(SITE) or _longest(name, self.sites)
        return EnvironmentPart(site=site or ENVIRONMENT)

    def _link(self, link: str, site: str) -> EnvironmentPart:
        if link:
            return EnvironmentPart(site=LINKS, part=link, kind="link")
        return EnvironmentPart(site=site) if site else EnvironmentPart(site=LINKS)

    def in_order(self, parts: Iterable[EnvironmentPart]) -> list[EnvironmentPart]:
        """Sort parts as a reader expects them: the environment, its sites, its links, then the objects on the
        cluster."""
        order = {name: index for index, name in enumerate((ENVIRONMENT, *self.sites, LINKS, ON_THE_CLUSTER))}
        return sorted(parts, key=lambda place: (order.get(place.site, len(order)), place.kind, _natural(place.part)))


def places(after: Environment, before: Environment | None, changes: Iterable[Change]) -> EnvironmentParts:
    """Collect the parts that an environment has after the change and, as far as known, had before."""
    listed = list(changes)
    tagged = [_tags(change) for change in listed]
    both = [after, *([before] if before is not None else [])]
    sites = dict.fromkeys(name for environment in both for name in environment.sites)
    sites |= dict.fromkeys(tags[SITE] for tags in tagged if SITE in tags)
    pools = {tags[POOL]: tags.get(SITE, "") for tags in tagged if POOL in tags}
    for environment in reversed(both):
        pools |= {name: pool.site for name, pool in environment.pools.items()}
    machines = {machine.name for side in both for machine in control_machines(side, plan(side))}
    machines |= {change.name for change in listed if change.type == _MACHINE}
    return EnvironmentParts(
        environment=after.name,
        sites=tuple(sites),
        control_site=after.control_plane.site,
        machines=frozenset(machines),
        pools=pools,
        links=tuple(f"{first}-{second}" for first, second in permutations(sites, 2)),
    )


def _longest(name: str, known: Iterable[str]) -> str:
    """Return the longest name in ``known`` that equals ``name``, or with which ``name`` begins before a hyphen; empty
    if there is none."""
    return max(
        (candidate for candidate in known if name == candidate or name.startswith(f"{candidate}-")), key=len, default=""
    )


def _tags(change: Change) -> Mapping[str, str]:
    """Return the tags of a resource. A cloud has them as a list or as a mapping."""
    tags: Any = (change.after or change.before).get("tags") or {}
    if isinstance(tags, list):
        return {str(tag.get("key")): str(tag.get("value")) for tag in tags if isinstance(tag, Mapping)}
    return {str(key): str(value) for key, value in tags.items()} if isinstance(tags, Mapping) else {}


def _natural(name: str) -> tuple[str, int]:
    """Return a sort key that puts ``m-10`` after ``m-9``."""
    stem, _, number = name.rpartition("-")
    return (stem, int(number)) if number.isdigit() else (name, -1)
