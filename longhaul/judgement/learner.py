"""Findings about the learner of the main etcd cluster, which does not count for quorum."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from clouds.base.findings import Severity
from clouds.base.resource_types import ResourceKind
from components.model import Environment
from components.model.control_plane.etcd import EtcdLearner
from components.model.control_plane.machines import learner_name
from contract.reasons.plan import PlanReason
from longhaul.judgement.case import Case
from longhaul.judgement.changes import ResourceAction
from longhaul.judgement.finding import PlanFinding
from longhaul.judgement.resource_kinds import kind_of

KEY = "control_plane.etcd.learner"

_MADE = PlanFinding(
    severity=Severity.OK,
    reason=PlanReason.LEARNER_MADE,
    what="The etcd cluster gets a learner.",
    why="Nothing else is replaced, and nothing waits for it.",
)
_REPLACED = PlanFinding(
    severity=Severity.WARNING,
    reason=PlanReason.LEARNER_REPLACED,
    what="The learner of the etcd cluster is replaced.",
    why="No work and no quorum depends on it. Its data stays on its disk; it catches up when it is back.",
)
_GONE = PlanFinding(
    severity=Severity.WARNING,
    reason=PlanReason.LEARNER_GOES,
    what="The learner of the etcd cluster is removed.",
    why="It leaves the etcd cluster first, and its disk is deleted: after the loss of all members, only "
    "backups remain.",
    do="First check that the backups are good (`longhaul backups --verify`).",
)
_LARGER = PlanFinding(
    severity=Severity.OK,
    reason=PlanReason.LEARNER_GROWS,
    what="The disk of the etcd cluster's learner gets larger.",
    why="It grows in place, and its file system grows at the machine's next start.",
)
_MOVED = PlanFinding(
    severity=Severity.PROBLEM,
    reason=PlanReason.LEARNER_MOVES,
    what="The disk of the etcd cluster's learner would move to another zone, or shrink.",
    why="It stays in its zone, does not shrink, and is not deleted while there is a learner.",
    do="Remove the learner from the file, run `longhaul up`, then declare it with the new values.",
)


def learner_changes(case: Case) -> Iterator[PlanFinding]:
    """Yield a finding when the learner's machine is replaced, or is removed with its disk."""
    name = learner_name(case.after)
    for change in case.changes:
        if change.name == name and kind_of(change) is ResourceKind.MACHINE:
            known = {ResourceAction.REPLACE: _REPLACED, ResourceAction.DESTROY: _GONE}.get(change.action)
            if known is not None:
                yield replace(known, where=(name,))


def learner_in_files(before: Environment, after: Environment, lines: tuple[str, ...]) -> Iterator[PlanFinding]:
    """Yield the effect of the changed file on the learner, for a plan without a state. ``lines`` describe the changed
    keys."""
    if lines:
        was, now = (environment.control_plane.etcd.learner for environment in (before, after))
        finding = _between(was, now) if was and now else _MADE if now else _GONE
        yield replace(finding, where=(KEY,), lines=lines)


def _between(was: EtcdLearner, now: EtcdLearner) -> PlanFinding:
    if was.zone != now.zone or was.disk_gib > now.disk_gib:
        return _MOVED
    return _REPLACED if was.machine_type != now.machine_type else _LARGER
