"""Compares the files alone when there is no state: finds the keys that changed since the earlier file."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from clouds.base.findings import Severity
from clouds.base.phrases import names
from components.model import Environment, Role
from contract.reasons.plan import PlanReason
from longhaul.judgement.case import Case
from longhaul.judgement.file_keys import GONE, NEW, change_text, file_consequences, interrupts_nothing
from longhaul.judgement.finding import PlanFinding
from longhaul.judgement.learner import KEY as LEARNER
from longhaul.judgement.learner import learner_in_files
from longhaul.judgement.properties import Property, compare_documents
from longhaul.judgement.text_changes import SHORT

ALONE = "the earlier file alone"
"""Words for the base of a plan without a state."""

_WITH_STATE = (
    "Plan again with the state: name its backend (PULUMI_BACKEND_URL) and set PULUMI_CONFIG_PASSPHRASE; for pull "
    "requests see docs/review.md."
)


def by_files(case: Case) -> Iterator[PlanFinding]:
    """Yield every finding from a comparison with the earlier file, if there is no state. With a state yield nothing,
    since the state shows more."""
    if case.base is None or not case.stateless:
        return
    for role in Role:
        yield from _fewer_members(case.base, case.after, role)
    yield from _changed(case.base, case.after)


def _fewer_members(before: Environment, after: Environment, role: Role) -> Iterator[PlanFinding]:
    """Yield a finding when an etcd cluster shrinks. Without a state, it is unknown which members are healthy; the
    engine's hooks check that."""
    if not role.is_etcd:
        return
    was, now = (getattr(environment.control_plane, role.value).members for environment in (before, after))
    if now < was:
        yield PlanFinding(
            severity=Severity.PROBLEM if now == 1 else Severity.WARNING,
            reason=PlanReason.MEMBERS_GO,
            what=f"The etcd cluster {role} would have fewer members: {was} -> {now}.",
            where=(f"control_plane.{role}.members",),
            why=f"Members are taken out one at a time. {now} survive the loss of {(now - 1) // 2}.",
            do="Leave it three members." if now == 1 else "First check that all are healthy (`longhaul status`).",
        )


def _changed(before: Environment, after: Environment) -> Iterator[PlanFinding]:
    """Yield the findings about the changed keys: the findings about known effects, one finding for all keys with
    unknown effects, and one finding for all keys that interrupt nothing."""
    changed = file_changes(before, after)
    known = file_consequences(before, after, changed)
    yield from known.findings
    learner = [key for key in changed if key.path.startswith(f"{LEARNER}.")]
    yield from learner_in_files(before, after, tuple(map(change_text, learner)))
    left = [key for key in changed if key.path not in known.paths and key not in learner]
    calm = [key for key in left if interrupts_nothing(key, before)]
    rest = [key for key in left if key not in calm]
    if rest:
        yield PlanFinding(
            severity=Severity.WARNING,
            reason=PlanReason.EFFECT_UNKNOWN,
            what=f"The file changes {names(key.path for key in rest)}.",
            where=tuple(key.path for key in rest),
            why="The state shows what the change replaces, restarts or cuts off, and there is no state here.",
            do=_WITH_STATE,
            lines=tuple(map(change_text, rest)),
        )
    if calm:
        yield PlanFinding(
            severity=Severity.OK,
            reason=PlanReason.NOTHING_INTERRUPTED,
            what=f"The file changes {names(key.path for key in calm)}, which interrupts nothing.",
            where=tuple(key.path for key in calm),
            why="A pool's size, new pools, hosts and sites, and tags change nothing for running work.",
            lines=tuple(map(change_text, calm)),
        )


def file_changes(before: Environment, after: Environment) -> tuple[Property, ...]:
    """Return the keys that differ between two files of an environment. A section in only one of the files is reported
    as a whole. Defaults are filled in, so a missing key equals its default."""
    return compare_documents(*_narrowed(_document(before), _document(after)))


def _document(environment: Environment) -> dict[str, Any]:
    hosts = {host.name: host.model_dump(mode="json") for host in environment.hosts}
    return {**environment.model_dump(mode="json"), "hosts": hosts}


def _narrowed(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return both documents in reduced form. A section that the other document lacks becomes one word, and long lists
    keep only their differing elements."""
    old, new = dict(before), dict(after)
    for key in old.keys() | new.keys():
        if key not in new and isinstance(old[key], Mapping):
            old[key], new[key] = "there", GONE
        elif key not in old and isinstance(new[key], Mapping):
            old[key], new[key] = None, NEW
        elif key in old and key in new:
            old[key], new[key] = _narrowed_value(old[key], new[key])
    return old, new


def _narrowed_value(old: Any, new: Any) -> tuple[Any, Any]:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        return _narrowed(old, new)
    if isinstance(old, list) and isinstance(new, list) and len(json.dumps([old, new])) > SHORT:
        went, came = (
            [element for element in old if element not in new],
            [element for element in new if element not in old],
        )
        # With the same elements, only the order differs.
        return (went, came) if went or came else (old, new)
    return old, new
