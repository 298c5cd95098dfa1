"""Compares the files alone when there is no state: finds the keys that changed since the earlier file."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from clouds.base.findings import Finding, Severity
from components.model import Environment, Role
from longhaul.plan.case import Case
from longhaul.plan.properties import NOTHING, Property, between
from longhaul.plan.texts import SHORT
from longhaul.report.text import names

ALONE = "the file of before alone"
"""Words for what a plan without a state is compared with."""

NEW, GONE = "new", "gone"
"""Value shown for a site, a pool, a host or the like that the other file does not have."""

_WITH_STATE = (
    "Plan again with the state: name its backend (PULUMI_BACKEND_URL) and set PULUMI_CONFIG_PASSPHRASE; for pull "
    "requests see docs/review.md."
)

_CALM = re.compile(r"pools\.[^.]+\.(min|max)|tags\..+")
"""Keys whose change interrupts nothing: a pool's size (fewer nodes are judged separately), and tags."""

_CALM_NEW = re.compile(r"(sites|pools)\.[^.]+")
"""Keys whose addition interrupts nothing, because nothing runs there yet."""


def by_files(case: Case) -> Iterator[Finding]:
    """Yield every finding from a comparison with the earlier file, if there is no state. A state shows more, so with a
    state nothing is yielded."""
    if case.base is None or not case.stateless:
        return
    for role in Role:
        yield from _fewer_members(case.base, case.after, role)
    yield from _changed(case.base, case.after)


def _fewer_members(before: Environment, after: Environment, role: Role) -> Iterator[Finding]:
    """Yield a finding when an etcd cluster shrinks. Without a state, it is unknown which members are healthy, and so
    how many the cluster can lose."""
    if not role.is_etcd:
        return
    was, now = (getattr(one.control_plane, role.value).members for one in (before, after))
    if now < was:
        yield Finding(
            severity=Severity.PROBLEM,
            what=f"The etcd cluster {role} would have fewer members: {was} -> {now}.",
            where=(f"control_plane.{role}.members",),
            why="A removed member goes on counting as a voter: the cluster survives fewer losses, or has no quorum.",
            do="Leave `members` as it is: shrinking an etcd cluster is not there yet (docs/operations.md).",
        )


def _changed(before: Environment, after: Environment) -> Iterator[Finding]:
    """Yield one finding about all changed keys."""
    changed = file_changes(before, after)
    if not changed:
        return
    restless = [one for one in changed if not _is_calm(one)]
    told = names(one.path for one in restless or changed)
    yield Finding(
        severity=Severity.WARNING if restless else Severity.OK,
        what=f"Not compared with what runs: there is no state here. The file changes {told}.",
        where=tuple(one.path for one in changed),
        why="What that replaces, restarts or cuts off among what runs is not known."
        if restless
        else "A pool's size, new pools, new sites and tags interrupt nothing.",
        do=_WITH_STATE if restless else "",
        lines=tuple(_line(one) for one in changed),
    )


def file_changes(before: Environment, after: Environment) -> tuple[Property, ...]:
    """Return the keys that differ between two files of an environment. A section that only one of them has is reported
    as a whole. Defaults are filled in: to leave a key out and to write its default is the same."""
    return between(*_narrowed(_document(before), _document(after)))


def _document(environment: Environment) -> dict[str, Any]:
    hosts = {host.name: host.model_dump(mode="json") for host in environment.hosts}
    return {**environment.model_dump(mode="json"), "hosts": hosts}


def _narrowed(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return both documents in reduced form: one word for a section that the other lacks, and only the differing
    elements of long lists."""
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
        went, came = [one for one in old if one not in new], [one for one in new if one not in old]
        # If no element went or came, only the order differs.
        return (went, came) if went or came else (old, new)
    return old, new


def _is_calm(one: Property) -> bool:
    is_new = one.before == NOTHING and one.after == NEW
    return bool(_CALM.fullmatch(one.path) or (is_new and _CALM_NEW.fullmatch(one.path)))


def _line(one: Property) -> str:
    return f"{one.path}: {one.after}" if one.lines or not one.before else f"{one.path}: {one.before} -> {one.after}"
