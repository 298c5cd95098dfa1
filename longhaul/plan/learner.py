"""Findings about the learner of the main etcd cluster, which no quorum counts."""

from __future__ import annotations

from collections.abc import Iterator

from clouds.base.findings import Finding, Severity
from clouds.base.kinds import Kind
from components.model.machines import learner_name
from longhaul.plan.case import Case
from longhaul.plan.changes import Action
from longhaul.plan.kinds import kind_of

_KEPT = "No work and no quorum depends on it. Its data stays on its disk; it catches up when it is back."
_GONE = (
    "It leaves the etcd cluster first, and its disk is deleted: after the loss of all members, backups alone are left."
)


def learner_changes(case: Case) -> Iterator[Finding]:
    """Yield a finding when the learner's machine is replaced, or goes for good with its disk."""
    name = learner_name(case.after)
    for change in case.changes:
        if change.name != name or kind_of(change) is not Kind.MACHINE:
            continue
        if change.action is Action.REPLACE:
            yield _finding("The learner of the etcd cluster is replaced.", name, why=_KEPT, do="Nothing.")
        elif change.action is Action.DESTROY:
            do = "See that the backups are good first (`longhaul backups --verify`)."
            yield _finding("The learner of the etcd cluster goes.", name, why=_GONE, do=do)


def _finding(what: str, name: str, *, why: str, do: str) -> Finding:
    return Finding(severity=Severity.WARNING, what=what, where=(name,), why=why, do=do)
