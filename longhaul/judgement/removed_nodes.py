"""Refuses changes that remove too many nodes or hosts at once."""

from __future__ import annotations

from collections.abc import Iterator

from clouds.base.findings import Severity
from clouds.base.phrases import counted
from clouds.base.resource_types import ResourceKind
from contract.reasons.plan import PlanReason
from longhaul.judgement.capacity import CapacityRow
from longhaul.judgement.case import Case
from longhaul.judgement.changes import ResourceAction
from longhaul.judgement.finding import PlanFinding
from longhaul.judgement.resource_kinds import kind_of


def removed_nodes(case: Case) -> Iterator[PlanFinding]:
    """Yield a finding when a larger share of the pools' maximum is removed than allowed at once. A replaced group
    counts as removed."""
    rows = [row for row in case.rows if row.before is not None and row.name != "hosts"]
    before = sum(row.before.nodes.most for row in rows if row.before is not None)
    replaced = _replaced_pools(case)
    removed = {row.name: _removed(row, whole=row.name in replaced) for row in rows}
    removed = {name: number for name, number in removed.items() if number}
    yield from _too_many(case, removed, before, noun="node", of="the pools' maximum")


def removed_hosts(case: Case) -> Iterator[PlanFinding]:
    """Yield the same finding about hosts, when the earlier file is given."""
    if case.base is None:
        return
    staying = {host.name for host in case.after.hosts}
    removed = {host.name: 1 for host in case.base.hosts if host.name not in staying}
    yield from _too_many(case, removed, len(case.base.hosts), noun="host", of="the hosts")


def _too_many(case: Case, removed: dict[str, int], before: int, *, noun: str, of: str) -> Iterator[PlanFinding]:
    gone = sum(removed.values())
    if not before or gone <= case.max_removed * before:
        return
    yield PlanFinding(
        severity=Severity.PROBLEM,
        reason=PlanReason.TOO_MANY_GO,
        what=f"{counted(gone, noun)} of {before:,} would go, {gone / before:.0%} of {of}; {case.max_removed:.0%} may.",
        where=tuple(sorted(removed)),
        why="Work on them ends, checkpoint or not, and the remaining nodes may have no room for it.",
        do="Remove them in steps, after emptying the nodes (docs/rolling.md), or raise --max-removed if the removal "
        "is intended.",
    )


def _replaced_pools(case: Case) -> set[str]:
    groups = (
        change
        for change in case.changes
        if kind_of(change) is ResourceKind.POOL and change.action is ResourceAction.REPLACE
    )
    return {case.places.of(group).part for group in groups}


def _removed(row: CapacityRow, *, whole: bool) -> int:
    if row.before is None:
        return 0
    if whole or row.after is None:
        return row.before.nodes.most
    return max(row.before.nodes.most - row.after.nodes.most, 0)
