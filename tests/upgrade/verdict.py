"""Compares the changes of an upgrade with those that were accepted."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from longhaul.judgement.changes import Change, ResourceAction
from tests.upgrade.names import is_kept
from tests.upgrade.releases import Entry

USER_DATA = {"osProfile.customData", "userData"}
"""Properties that hold a machine's user data, in base64."""
ADVICE = {
    ResourceAction.REPLACE: "keep the property as it was; what replaces machines is accepted only where a guard of the "
    "engine gives them turns, and is told in CHANGELOG.md (docs/releasing.md, Machines that are made anew)",
    ResourceAction.DESTROY: "was it renamed, or given another parent? Keep its name, or give it `aliases` in its "
    "ResourceOptions (docs/releasing.md, Renaming a resource)",
    ResourceAction.MAKE: "was something renamed? Then alias it; if it is new, say so in accepted.yaml with its reason",
    ResourceAction.CHANGE: "keep the property as it was, or say in accepted.yaml why it changes",
}


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """Result of the comparison."""

    refused: tuple[str, ...]
    """Changes that were not accepted, in words."""
    used: frozenset[Entry]
    """Accepted entries that match a change."""


def judge(changes: Iterable[Change], accepted: Iterable[Entry]) -> Verdict:
    """Judge every property that changes in a cloud's resources: each must be accepted. Components and the engine's own
    providers do not count, since they are nothing in a cloud."""
    entries = tuple(accepted)
    refused: list[str] = []
    used: set[Entry] = set()
    for change in changes:
        if not is_kept(change.urn):
            continue
        for path in _properties(change):
            entry = _entry(change, path, entries)
            if entry is None or not _admissible(change, entry):
                refused.append(_told(change, path))
            else:
                used.add(entry)
    return Verdict(refused=tuple(refused), used=frozenset(used))


def _entry(change: Change, path: str, entries: Iterable[Entry]) -> Entry | None:
    found = (one for one in entries if one.covers(change.type, change.name))
    return next((one for one in found if (one.action, one.property) == (_word(change, path), path)), None)


def _properties(change: Change) -> Iterator[str]:
    """Yield what has to be accepted of a change: its properties, or the empty path for a resource that is made or
    destroyed."""
    differing = dict.fromkeys(re.sub(r"\[\d+\]", "", path) for path in change.differing)
    if change.action in (ResourceAction.CHANGE, ResourceAction.REPLACE) and differing:
        yield from differing
    else:
        yield ""


def _word(change: Change, path: str) -> str:
    """Return the action for a property. In a replacement, a property that would not cause it by itself is a change."""
    if change.action is ResourceAction.REPLACE and any(
        not replaces for known, replaces in change.differing.items() if re.sub(r"\[\d+\]", "", known) == path
    ):
        return ResourceAction.CHANGE.value
    return change.action.value


def _admissible(change: Change, entry: Entry) -> bool:
    """Return whether the entry may accept the change. No replacement is admitted, even if it was accepted, unless the
    engine's guards allow only one at a time."""
    return entry.action != "replace" or change.guarded


def _told(change: Change, path: str) -> str:
    of = f": {path}{_files(change, path)}" if path else ""
    return f"{change.action.value} {change.urn}{of}\n    {ADVICE.get(change.action, 'an upgrade does none of this')}"


def _files(change: Change, path: str) -> str:
    """Return the names of the machine's files that differ, when the property is its user data."""
    if path not in USER_DATA:
        return ""
    before, after = (_written(_at(side, path)) for side in (change.before, change.after))
    differing = sorted(name for name in before | after if before.get(name) != after.get(name))
    return f" ({', '.join(differing) or 'beyond its files'})"


def _at(value: Any, path: str) -> Any:
    for key in path.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _written(value: Any) -> dict[str, Any]:
    """Return a cloud-init document's files by path; empty when it is no such document."""
    try:
        content = yaml.safe_load(base64.b64decode(str(value), validate=True))
    except (binascii.Error, UnicodeDecodeError, yaml.YAMLError):
        return {}
    files = content.get("write_files", ()) if isinstance(content, Mapping) else ()
    return {str(one["path"]): one for one in files}
