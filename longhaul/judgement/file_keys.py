"""Predicts, without a state, what the changed keys of the file do to running machines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from clouds.base.findings import Severity
from clouds.base.replaces import Replaces
from clouds.base.resource_types import ResourceKind
from components.model import Environment, Role, control_machines, plan
from components.model.control_plane.machines import members
from components.model.control_plane.size import api_arguments, declared_nodes, raft_times
from components.model.policy.replacement_lookup import replaced_by
from contract.reasons.plan import PlanReason
from longhaul.judgement.consequences import CONSEQUENCES
from longhaul.judgement.finding import PlanFinding
from longhaul.judgement.interruptions import replacement
from longhaul.judgement.properties import Property
from longhaul.judgement.quorum import only_member

_COLLECTIONS = ("sites", "pools", "hosts")
"""Sections whose new entries affect nothing that runs."""

NEW, GONE = "new", "gone"
"""Texts for an entry (a site, a pool, a host) that only the later file has, and for an entry that only the earlier file
has."""


@dataclass(frozen=True, kw_only=True)
class FileConsequences:
    """Consequences that the two files show without a state."""

    findings: tuple[PlanFinding, ...]
    paths: frozenset[str] = field(default_factory=frozenset)
    """Paths of the changed keys that the findings cover."""


def file_consequences(before: Environment, after: Environment, changed: Sequence[Property]) -> FileConsequences:
    """Return the effects of the ``changed`` keys on running machines of ``before``, as far as the keys show the
    effects."""
    control = [key for key in changed if _roles(key, before)]
    templates = [key for key in changed if _is_template(key, before)]
    operators = [key for key in changed if Replaces.REACH in replaced_by(before, key.path)]
    sized = _sized(before, after)
    sizes = [key for key in changed if Role.API in sized and _is_size(key, before)]
    replaced = {role: tuple(_replaced(before, after, role, control, more=sized.get(role, ()))) for role in Role}
    findings = [finding for of_role in replaced.values() for finding in of_role]
    # A role without machines before or after, such as a removed VPN, has no finding.
    covered = [key for key in control if any(replaced[role] for role in _roles(key, before))]
    if templates:
        findings.append(_new_machines_only(templates))
    if operators:
        findings.append(_reaching(operators))
    gateways = [key for key in changed if Replaces.TUNNELS in replaced_by(before, key.path)]
    if gateways:
        findings.append(_resizing(gateways))
    explained = frozenset(key.path for key in (*covered, *templates, *operators, *gateways, *sizes))
    return FileConsequences(findings=tuple(findings), paths=explained)


def interrupts_nothing(change: Property, before: Environment) -> bool:
    """Return whether a change leaves running work alone: the key replaces nothing, the key belongs to the declared
    size, or the key is a new entry that runs nothing yet. The caller leaves out the keys that findings cover, such as a
    pool's size when the API servers get other arguments because of it."""
    collection, *keys = change.path.split(".")
    is_new = change.after == NEW and len(keys) == 1 and collection in _COLLECTIONS
    return is_new or replaced_by(before, change.path) in (Replaces.NOTHING, Replaces.SIZE)


def _roles(change: Property, before: Environment) -> tuple[Role, ...]:
    """Return the roles whose machines are replaced."""
    replaced = replaced_by(before, change.path)
    first, *keys = change.path.split(".")
    if first == "sites" and keys[:1] != [before.control_plane.site]:
        return ()
    named = [first, *keys] if Replaces.ROLE in replaced else []
    return tuple(role for role in Role if Replaces[role.name] in replaced or role in named)


def _is_template(change: Property, before: Environment) -> bool:
    """Return whether the change affects only new machines of pools."""
    if Replaces.NEW_NODES not in replaced_by(before, change.path):
        return False
    first, *keys = change.path.split(".")
    sites = [pool.site for pool in before.pools.values()]
    return keys[0] in sites if first == "sites" else bool(sites)


def _is_size(change: Property, before: Environment) -> bool:
    """Return whether a key is part of the declared size."""
    if change.path.count(".") == 1 and change.path.split(".")[0] in ("pools", "hosts"):
        return change.after != GONE
    return Replaces.SIZE in replaced_by(before, change.path)


def _sized(before: Environment, after: Environment) -> dict[Role, tuple[str, ...]]:
    """Return lines with the reasons, by role, why machines are replaced when the declared size or the round-trip time
    changes."""
    lines: dict[Role, tuple[str, ...]] = {}
    if api_arguments(before) != api_arguments(after):
        lines[Role.API] = (f"nodes, at most: {declared_nodes(before):,} -> {declared_nodes(after):,} (docs/sizing.md)",)
    trips = [environment.control_plane.round_trip_ms for environment in (before, after)]
    if raft_times(trips[0]) != raft_times(trips[1]):
        line = f"control_plane.round_trip_ms: {trips[0]:g} -> {trips[1]:g}"
        lines |= dict.fromkeys((Role.ETCD, Role.EVENTS), (line,))
    return lines


def _replaced(
    before: Environment, after: Environment, role: Role, changed: Sequence[Property], *, more: tuple[str, ...]
) -> Iterator[PlanFinding]:
    keys = [key for key in changed if role in _roles(key, before)]
    names = [machine.name for machine in members(control_machines(before, plan(before)), role)]
    staying = {machine.name for machine in members(control_machines(after, plan(after)), role)}
    names = [name for name in names if name in staying]
    lines = (*(change_text(key) for key in keys), *more)
    if lines and names:
        if role.is_etcd and len(names) == 1:
            yield only_member(role, names[0], lines=lines)
        else:
            yield replacement(role, names, len(names), one_at_a_time=True, lines=lines)


def _new_machines_only(changed: Sequence[Property]) -> PlanFinding:
    return PlanFinding(
        severity=Severity.WARNING,
        reason=PlanReason.NEW_MACHINES_DIFFER,
        what="New machines of pools will differ from the running ones.",
        where=tuple(key.path for key in changed),
        why="Running work continues: machines stay as they are until they are replaced, one budget at a time.",
        do="Update running machines with `longhaul roll` (docs/rolling.md), or wait until they are replaced anyway.",
        lines=tuple(change_text(key) for key in changed),
    )


def _reaching(changed: Sequence[Property]) -> PlanFinding:
    consequence = CONSEQUENCES[ResourceKind.VAULT]
    return PlanFinding(
        severity=Severity.WARNING,
        reason=PlanReason.OPERATORS_CHANGE,
        what="Access from outside to the vault and the racks' gateways changes.",
        where=tuple(key.path for key in changed),
        why="Running work is not touched; an operator or a CI runner whose range is removed is refused from then on.",
        do=consequence.do,
        lines=tuple(change_text(key) for key in changed),
    )


def _resizing(changed: Sequence[Property]) -> PlanFinding:
    consequence = CONSEQUENCES[ResourceKind.VPN_GATEWAY]
    return PlanFinding(
        severity=Severity.WARNING,
        reason=consequence.reason,
        what="The size of a site's VPN gateway changes.",
        where=tuple(key.path for key in changed),
        why=consequence.change,
        do=consequence.do,
        lines=tuple(change_text(key) for key in changed),
    )


def change_text(key: Property) -> str:
    """Return a changed key as text, with the values before and after. A long text shows a summary in place of the
    values."""
    return f"{key.path}: {key.after}" if key.lines or not key.before else f"{key.path}: {key.before} -> {key.after}"
