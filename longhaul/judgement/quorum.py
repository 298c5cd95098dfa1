"""Refuses changes after which an etcd cluster has no quorum, or only one member."""

from __future__ import annotations

from collections.abc import Iterator

from clouds.base.findings import Severity
from clouds.base.phrases import counted
from components.model import Role
from contract.reasons.plan import PlanReason
from longhaul.judgement.case import Case
from longhaul.judgement.changes import ResourceAction
from longhaul.judgement.finding import PlanFinding
from longhaul.judgement.previous_environment import role_changes


def lost_quorums(case: Case) -> Iterator[PlanFinding]:
    """Yield a finding for each etcd cluster that would lose its quorum, or would keep only one member."""
    for role in Role:
        yield from quorum(case, role)


def quorum(case: Case, role: Role) -> Iterator[PlanFinding]:
    """Yield a finding when more members are down at once than the etcd cluster tolerates, or when only one member would
    be left. Members with a deletion hook are replaced or removed one at a time."""
    if not role.is_etcd:
        return
    of_role, before = role_changes(case.after, case.changes, role)
    founded = f"{case.after.name}-{role}-founded"
    if before == 0 or any(change.name == founded and change.action is ResourceAction.MAKE for change in case.changes):
        return
    gone = [change for change in of_role if change.action is ResourceAction.DESTROY]
    replaced = [change for change in of_role if change.action is ResourceAction.REPLACE]
    leaving = [*gone, *replaced]
    unguarded = [change for change in leaving if not change.guarded]
    guarded = 1 if len(leaving) > len(unguarded) else 0
    out, outlives = len(unguarded) + guarded, (before - 1) // 2
    alone = bool(gone) and before - len(gone) == 1
    if out <= outlives and not alone:
        return
    counts = [f"{counted(len(gone), 'member')} removed"] if gone else []
    counts += [f"{counted(len(replaced), 'member')} replaced"] if replaced else []
    if before == 1:
        why, do = _ONLY
    elif alone:
        why, do = _TO_ONE
    else:
        why = f"An etcd cluster of {before} survives the loss of {outlives}; {out} would be out of service at once."
        do = "Run `longhaul up` with the earlier file, which gives the machines their guards, then make the change."
    loss = "would have one member" if alone and before > 1 else "loses its quorum"
    yield PlanFinding(
        severity=Severity.PROBLEM,
        reason=PlanReason.ONE_MEMBER_LEFT if alone and before > 1 else PlanReason.QUORUM_LOST,
        what=f"The etcd cluster {role} {loss}: {' and '.join(counts)} of {before}.",
        where=tuple(sorted(change.name for change in (*gone, *replaced))),
        why=why,
        do=do,
    )


_ONLY = (
    "The etcd cluster has one member: its data would be lost.",
    "Give it three members first, run `longhaul up`, then make the change.",
)
"""Reason and advice when the only member of an etcd cluster would be replaced."""

_TO_ONE = (
    "One member survives no loss, and its machine can never be replaced.",
    "Leave it three members.",
)
"""Reason and advice when an etcd cluster would shrink to one member."""


def only_member(role: Role, name: str, *, lines: tuple[str, ...]) -> PlanFinding:
    """Return the finding that the only member of an etcd cluster is replaced, for a plan from files."""
    why, do = _ONLY
    what = f"The etcd cluster {role} loses its quorum: 1 member replaced of 1."
    return PlanFinding(
        severity=Severity.PROBLEM,
        reason=PlanReason.QUORUM_LOST,
        what=what,
        where=(name,),
        why=why,
        do=do,
        lines=lines,
    )
