"""Tells from the keys of a file that change what happens to machines that run, where there is no state."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from clouds.base.findings import Finding, Severity
from clouds.base.resources import ResourceKind
from components.model import Environment, Role, control_machines, plan
from components.model.control_plane.machines import members
from components.model.control_plane.size import api_arguments, declared_nodes, raft_times
from longhaul.judgement.care import replacement
from longhaul.judgement.consequences import CONSEQUENCES
from longhaul.judgement.properties import Property
from longhaul.judgement.refusals import only_member

_OF_ROLES: tuple[tuple[re.Pattern[str], tuple[Role, ...]], ...] = (
    (re.compile(r"control_plane\.etcd\.(machine_type|quota_gib)"), (Role.ETCD,)),
    (re.compile(r"control_plane\.events\.(machine_type|quota_gib)"), (Role.EVENTS,)),
    (re.compile(r"control_plane\.api\.machine_type|versions\.kubernetes"), (Role.API,)),
    (re.compile(r"versions\.etcd|control_plane\.sync_limits(\..+)?"), (Role.ETCD, Role.EVENTS)),
)
"""Keys that are in the size, the image or the user-data of control-plane machines: a change makes them anew
(docs/releasing.md, "Machines that are made anew")."""

NEW, GONE = "new", "gone"
"""Value shown for a site, a pool, a host or the like that the other file does not have."""

_OF_TEMPLATES = re.compile(
    r"pools\.[^.]+\.(machine_type|labels(\..+)?|taints(\..+)?|huge_pages_gib|gpu_check|system_disk_gib)"
)
"""Keys of a pool's template, which is for new machines only."""

_OF_SIZE = re.compile(r"pools\.[^.]+(\.max)?|hosts\.[^.]+|max_nodes")
"""Keys that make up the declared size."""

_IMAGE = re.compile(r"sites\.([^.]+)\.image")


@dataclass(frozen=True, kw_only=True)
class FileConsequences:
    """Consequences that the files show."""

    findings: tuple[Finding, ...]
    told: frozenset[str] = field(default_factory=frozenset)
    """Paths whose consequence is told."""


def expected(before: Environment, after: Environment, changed: Sequence[Property]) -> FileConsequences:
    """Return what ``changed`` does to machines that run in ``before``, as far as the keys tell."""
    control = [one for one in changed if _roles(one, before)]
    templates = [one for one in changed if _is_template(one, before)]
    operators = [one for one in changed if one.path == "access.operators"]
    sized = _sized(before, after)
    sizes = [one for one in changed if Role.API in sized and _OF_SIZE.fullmatch(one.path) and one.after != GONE]
    findings = [
        finding for role in Role for finding in _replaced(before, after, role, control, more=sized.get(role, ()))
    ]
    if templates:
        findings.append(_new_machines_only(templates))
    if operators:
        findings.append(_reaching(operators))
    told = frozenset(template.path for template in (*control, *templates, *operators, *sizes))
    return FileConsequences(findings=tuple(findings), told=told)


def _roles(one: Property, before: Environment) -> tuple[Role, ...]:
    """Return the roles whose machines are made anew."""
    image = _IMAGE.fullmatch(one.path)
    if image and image[1] == before.control_plane.site:
        return tuple(Role)
    return next((roles for pattern, roles in _OF_ROLES if pattern.fullmatch(one.path)), ())


def _is_template(one: Property, before: Environment) -> bool:
    """Return whether new machines of pools alone have the change."""
    image = _IMAGE.fullmatch(one.path)
    if image:
        return any(pool.site == image[1] for pool in before.pools.values())
    known = one.path.split(".")[1] in before.pools if one.path.startswith("pools.") else bool(before.pools)
    return known and bool(_OF_TEMPLATES.fullmatch(one.path) or one.path == "versions.kubernetes")


def _sized(before: Environment, after: Environment) -> dict[Role, tuple[str, ...]]:
    """Return a line for each role whose machines are made anew because what follows the size or the round trips
    changes."""
    found: dict[Role, tuple[str, ...]] = {}
    if api_arguments(before) != api_arguments(after):
        found[Role.API] = (f"nodes, at most: {declared_nodes(before):,} -> {declared_nodes(after):,} (docs/sizing.md)",)
    trips = [one.control_plane.round_trip_ms for one in (before, after)]
    if raft_times(trips[0]) != raft_times(trips[1]):
        line = f"control_plane.round_trip_ms: {trips[0]:g} -> {trips[1]:g}"
        found |= dict.fromkeys((Role.ETCD, Role.EVENTS), (line,))
    return found


def _replaced(
    before: Environment, after: Environment, role: Role, changed: Sequence[Property], *, more: tuple[str, ...]
) -> Iterator[Finding]:
    own = [one for one in changed if role in _roles(one, before)]
    names = [machine.name for machine in members(control_machines(before, plan(before)), role)]
    staying = {machine.name for machine in members(control_machines(after, plan(after)), role)}
    names = [name for name in names if name in staying]
    lines = (*(told(one) for one in own), *more)
    if lines and names:
        if role.is_etcd and len(names) == 1:
            yield only_member(role, names[0], lines=lines)
        else:
            yield replacement(role, names, len(names), one_at_a_time=True, lines=lines)


def _new_machines_only(changed: Sequence[Property]) -> Finding:
    return Finding(
        severity=Severity.WARNING,
        what="New machines of pools differ from those that run.",
        where=tuple(one.path for one in changed),
        why="What runs goes on: machines stay as they are until they are replaced, one budget at a time.",
        do="Bring running machines there with `longhaul roll` (docs/rolling.md), or let them be replaced as they go.",
        lines=tuple(told(one) for one in changed),
    )


def _reaching(changed: Sequence[Property]) -> Finding:
    consequence = CONSEQUENCES[ResourceKind.VAULT]
    return Finding(
        severity=Severity.WARNING,
        what="Who reaches the vault and the racks' gateways from outside changes.",
        where=tuple(one.path for one in changed),
        why="Work that runs is not touched; an operator or a CI runner whose range goes is refused from then on.",
        do=consequence.do,
        lines=tuple(told(one) for one in changed),
    )


def told(one: Property) -> str:
    """Return a changed key with its values before and after."""
    return f"{one.path}: {one.after}" if one.lines or not one.before else f"{one.path}: {one.before} -> {one.after}"
