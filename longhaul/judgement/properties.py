"""Lists the properties of a resource that change, with their values before and after."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from clouds.base.inputs import MASKED, UNKNOWN
from longhaul.judgement.changes import Change, ResourceAction
from longhaul.judgement.masking import is_secret_key, mask
from longhaul.judgement.text_changes import describe, is_long, text_change

NOTHING = "-"
"""Text shown for a missing value."""

_LABEL = re.compile(r"\[[^\]]*\]")
_MISSING: Any = object()


@dataclass(frozen=True, kw_only=True)
class Property:
    """One property that changes. Everything in it is safe to show."""

    path: str
    before: str
    after: str
    replaces: bool
    """True when the change forces a new resource."""
    lines: tuple[str, ...] = ()
    """A few differing lines of a long text."""


def properties(change: Change) -> tuple[Property, ...]:
    """Return the properties that change, by path; empty for a resource that is made or destroyed as a whole."""
    if change.action not in (ResourceAction.CHANGE, ResourceAction.REPLACE):
        return ()
    old, new = _leaves(change.before), _leaves(change.after)
    paths = [path for path in sorted(old.keys() | new.keys()) if _differs(path, old, new, change.differing)]
    visible = [_property(path, old.get(path, _MISSING), new.get(path, _MISSING), change.differing) for path in paths]
    return (*visible, *_unseen(change, paths))


def compare_documents(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[Property, ...]:
    """Compare two documents by path, without a provider's diff."""
    old, new = _leaves(before), _leaves(after)
    paths = [path for path in sorted(old.keys() | new.keys()) if _differs(path, old, new, {})]
    return tuple(_property(path, old.get(path, _MISSING), new.get(path, _MISSING), {}) for path in paths)


def changes_only(change: Change, *keys: str) -> bool:
    """Return whether all changed properties are below the given keys, such as ``tags``."""
    changed = properties(change)
    return bool(changed) and all(any(_below(property_.path, key) for key in keys) for property_ in changed)


def _leaves(value: Any, path: str = "") -> dict[str, Any]:
    """Return every value by its path. A list of plain values counts as one value, and so does an empty collection."""
    if isinstance(value, Mapping) and value:
        leaves: dict[str, Any] = {}
        for name, inner in value.items():
            if not str(name).startswith("__"):
                leaves |= _leaves(inner, f"{path}.{name}" if path else str(name))
        return leaves
    if isinstance(value, list) and value:
        if all(not isinstance(inner, Mapping | list) for inner in value):
            return {path: value}
        named = zip(_labels(value), value, strict=True)
        return {key: leaf for label, inner in named for key, leaf in _leaves(inner, f"{path}[{label}]").items()}
    return {path: value} if path else {}


def _labels(values: list[Any]) -> list[str]:
    """Return labels for the elements of a list: the elements' names if all of them are unique, otherwise the elements'
    positions. With names, an inserted rule does not relabel all later rules."""
    names = [str(inner.get("name", inner.get("key", ""))) if isinstance(inner, Mapping) else "" for inner in values]
    return names if all(names) and len(set(names)) == len(names) else [str(at) for at in range(len(values))]


def _differs(path: str, old: Mapping[str, Any], new: Mapping[str, Any], differing: Mapping[str, bool]) -> bool:
    """Return whether a property changes. A value that is unknown before the run often stays the same; then the
    provider's diff decides, if there is one."""
    before, after = old.get(path, _MISSING), new.get(path, _MISSING)
    if before == after:
        return False
    if after == UNKNOWN and differing:
        return _overlaps(path, differing)
    return not (_is_nothing(before) and _is_nothing(after))


def _is_nothing(value: Any) -> bool:
    return value is _MISSING or value is None or value in ([], {})


def _property(path: str, before: Any, after: Any, differing: Mapping[str, bool]) -> Property:
    replaces = any(
        forces and (_below(path, reported) or _below(reported, path)) for reported, forces in differing.items()
    )
    key = _LABEL.sub("", path).rsplit(".", 1)[-1]
    secret = any(is_secret_key(part) for part in _LABEL.sub("", path).split("."))
    if secret or MASKED in (before, after):
        shown = [NOTHING if _is_nothing(value) else MASKED for value in (before, after)]
        return Property(path=path, before=shown[0], after=shown[1], replaces=replaces)
    if is_long(before) and is_long(after):
        text = text_change(before, after, key=key)
        return Property(path=path, before="", after=text.summary, replaces=replaces, lines=text.lines)
    return Property(path=path, before=_shown(before, key), after=_shown(after, key), replaces=replaces)


def _shown(value: Any, key: str) -> str:
    """Return a value as short text, with secrets masked."""
    if _is_nothing(value):
        return NOTHING
    if is_long(value):
        return describe(value, key=key)
    safe = mask(value, key=key)
    text = safe if isinstance(safe, str) else json.dumps(safe, ensure_ascii=False, sort_keys=True)
    return describe(text, key=key) if is_long(text) else text or '""'


def _unseen(change: Change, paths: list[str]) -> Iterator[Property]:
    """Yield differences that the provider reports although the inputs are equal. Such a difference is in a secret,
    which is masked, or was made in the cloud itself."""
    for reported, replaces in sorted(change.differing.items()):
        if reported.startswith("__") or _overlaps(reported, dict.fromkeys(paths, False)):
            continue
        before, after = _at(change.before, reported), _at(change.after, reported)
        if before == after and before != MASKED:
            before, after = _drift(_at(change.outputs, reported), _at(change.new_outputs, reported), declared=after)
        if before == MASKED or not (before == after or (_is_nothing(before) and _is_nothing(after))):
            yield replace(_property(reported, before, after, change.differing), replaces=replaces)


def _drift(state: Any, actual: Any, *, declared: Any) -> tuple[Any, Any]:
    """Return the value in the state, and the new value: the cloud's value if it was read and differs, otherwise the
    declared value."""
    return (state, declared) if state == actual or actual in (_MISSING, UNKNOWN) else (state, actual)


def _at(value: Any, path: str) -> Any:
    """Return the value at a path; ``_MISSING`` when nothing is there."""
    for part in (part for part in re.split(r"\.|\[|\]", path) if part):
        if isinstance(value, Mapping):
            value = value.get(part, _MISSING)
        elif isinstance(value, list) and part.isdigit() and int(part) < len(value):
            value = value[int(part)]
        else:
            return _MISSING
    return value


def _overlaps(path: str, others: Mapping[str, bool]) -> bool:
    return any(_below(path, other) or _below(other, path) for other in others)


def _below(path: str, top: str) -> bool:
    """Return whether ``path`` equals ``top`` or is below it. Labels of list elements are ignored, because the provider
    counts elements and this module names them."""
    path, top = _LABEL.sub("", path), _LABEL.sub("", top)
    return path == top or path.startswith(f"{top}.")
