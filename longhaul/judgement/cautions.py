"""Cautions about the file (:mod:`components.model.loading.cautions`) as findings of a plan: new cautions need care,
earlier cautions are only listed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from clouds.base.faults import Caution
from clouds.base.findings import Severity
from components.model.loading.cautions import cautions
from longhaul.judgement.case import Case
from longhaul.judgement.changes import ResourceAction
from longhaul.judgement.finding import PlanFinding
from longhaul.judgement.weak_spots import new_sites


def new_cautions(case: Case) -> Iterator[PlanFinding]:
    """Yield a finding for each caution that is new, ``never_safe`` or ``refused``. A ``refused`` caution is a problem
    only if it is new. Equal cautions about the same key in several places are merged into one finding."""
    alike: dict[tuple[object, str, str, Severity], list[Caution]] = {}
    for caution in cautions(case.after):
        new = _new(case, caution)
        if caution.never_safe or caution.refused or new:
            severity = Severity.PROBLEM if caution.refused and new else Severity.WARNING
            alike.setdefault((caution.at[-1], caution.wrong, caution.write, severity), []).append(caution)
    for (*_, severity), (first, *others) in alike.items():
        finding = _finding(first, severity)
        yield replace(finding, where=(*finding.where, *(other.key for other in others))) if others else finding


def standing_cautions(case: Case) -> tuple[PlanFinding, ...]:
    """Return the other cautions: they existed before the change, and do not affect the verdict."""
    return tuple(
        _finding(caution, Severity.OK)
        for caution in cautions(case.after)
        if not (caution.never_safe or caution.refused or _new(case, caution))
    )


def _new(case: Case, doubt: Caution) -> bool:
    """Return whether a caution is new: the earlier file lacks it. Without an earlier file, a caution is new if there is
    no state, or if its pool or site is new."""
    if case.base is not None:
        return doubt.identity not in {caution.identity for caution in cautions(case.base)}
    if case.stateless:
        return True
    if doubt.pool:
        return any(
            change.action is ResourceAction.MAKE and case.places.of(change).part == doubt.pool
            for change in case.changes
        )
    return doubt.site in new_sites(case)


def _finding(doubt: Caution, severity: Severity) -> PlanFinding:
    what = f"{doubt.key}: {doubt.wrong}."
    return PlanFinding(severity=severity, what=what, where=(doubt.key,), do=doubt.write, reason=doubt.reason)
