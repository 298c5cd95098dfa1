"""Describes in a few lines how a long text changed: user-data by its files, JSON documents by their lines."""

from __future__ import annotations

import base64
import binascii
import difflib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from longhaul.judgement.masking import mask_file

SHORT = 100
"""Maximum length of a value that is shown as it is, characters."""
LINES = 12
"""Maximum number of lines shown of a change."""
WIDTH = 88
"""Maximum width of a shown line, characters."""
HEAD = 24
"""Number of characters shown from the beginning of a line when the difference comes later."""

_CLOUD_CONFIG = "#cloud-config"
_USER_DATA = frozenset(("customData", "userData", "userDataBase64"))
"""Properties of Azure and AWS that hold base64."""


@dataclass(frozen=True, kw_only=True)
class TextChange:
    """Description of how a text changed."""

    summary: str
    lines: tuple[str, ...]
    """Lines of a unified diff, secrets masked."""


def is_long(value: object) -> bool:
    """Return whether a value has several lines or is too long to be shown as it is."""
    return isinstance(value, str) and (len(value) > SHORT or "\n" in value)


def text_change(before: str, after: str, *, key: str) -> TextChange:
    """Describe how a text changed; ``key`` is its key."""
    old, new = (_readable(text, key=key) for text in (before, after))
    if old.startswith(_CLOUD_CONFIG) and new.startswith(_CLOUD_CONFIG):
        return _cloud_config_change(old, new)
    lines = tuple(_diff(_masked_lines(old), _masked_lines(new)))
    return TextChange(summary=f"text changed: {_counted(lines)}", lines=_few(lines))


def describe(text: str, *, key: str) -> str:
    """Describe a long text without its content."""
    readable = _readable(text, key=key)
    if readable.startswith(_CLOUD_CONFIG):
        files = _files(readable)
        return f"cloud-init, {len(files)} files" if files else "cloud-init"
    lines = readable.count("\n") + 1
    return f"text of {len(readable):,} characters" + (f" in {lines} lines" if lines > 1 else "")


def _readable(text: str, *, key: str) -> str:
    """Return the text in readable form: user-data decoded from base64, JSON in lines."""
    if key.rsplit(".", 1)[-1] in _USER_DATA:
        try:
            return base64.b64decode(text, validate=True).decode()
        except (binascii.Error, UnicodeDecodeError):
            return text
    if text.startswith(("{", "[")):
        try:
            return json.dumps(json.loads(text), indent=2)
        except ValueError:
            return text
    return text


def _cloud_config_change(before: str, after: str) -> TextChange:
    """Describe which files are new, removed or changed, with the first lines that differ."""
    old, new = _files(before), _files(after)
    changed = sorted(path for path in old.keys() & new.keys() if old[path] != new[path])
    parts = [
        ("changed", changed),
        ("new", sorted(new.keys() - old.keys())),
        ("gone", sorted(old.keys() - new.keys())),
    ]
    summary = "; ".join(f"{word} {', '.join(paths)}" for word, paths in parts if paths)
    lines: list[str] = []
    for path in changed:
        differences = tuple(_diff(_masked_lines(old[path]), _masked_lines(new[path])))
        lines += [f"  {path}", *(differences or ("  [secret or invisible]",))]
    return TextChange(
        summary=f"cloud-init changed: files {summary}" if summary else "cloud-init changed", lines=_few(lines)
    )


def _files(text: str) -> dict[str, str]:
    """Return the files that user-data writes, by path; empty when it cannot be parsed."""
    from components.model.loading.document import parse_document
    from components.model.loading.document_error import DocumentError

    try:
        entries = parse_document(text).data.get("write_files") or []
    except DocumentError:
        return {}
    files = (entry for entry in entries if isinstance(entry, Mapping) and "path" in entry)
    return {str(entry["path"]): str(entry.get("content", "")) for entry in files}


def machine_files(inputs: Mapping[str, Any]) -> dict[str, str]:
    """Return the files that the user-data in a machine's inputs writes, by path; empty without readable user-data."""
    for key, value in inputs.items():
        if isinstance(value, Mapping):
            if files := machine_files(value):
                return files
        elif key in _USER_DATA and isinstance(value, str):
            return _files(_readable(value, key=key))
    return {}


def _masked_lines(text: str) -> list[str]:
    return mask_file(text).splitlines()


def _diff(before: list[str], after: list[str]) -> Iterator[str]:
    """Yield the removed and the added lines."""
    for tag, a, b, c, d in difflib.SequenceMatcher(a=before, b=after, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        old, new = before[a:b], after[c:d]
        if len(old) == len(new):
            old, new = _windows(old, new)
        yield from (f"-{_short(line)}" for line in old)
        yield from (f"+{_short(line)}" for line in new)


def _windows(old: list[str], new: list[str]) -> tuple[list[str], list[str]]:
    """Shorten long lines that differ late: keep their beginning and the part that differs."""
    pairs = [_window(line, other) for line, other in zip(old, new, strict=True)]
    return [line for line, _ in pairs], [other for _, other in pairs]


def _window(old: str, new: str) -> tuple[str, str]:
    same = next((at for at, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    start = old.rfind(" ", 0, same) + 1
    if max(len(old), len(new)) < WIDTH or start <= HEAD:
        return old, new
    return f"{old[:HEAD]}… {old[start:]}", f"{new[:HEAD]}… {new[start:]}"


def _short(line: str) -> str:
    return line if len(line) < WIDTH else f"{line[: WIDTH - 2]}…"


def _counted(lines: tuple[str, ...]) -> str:
    gone = sum(line.startswith("-") for line in lines)
    return f"{gone} lines gone, {len(lines) - gone} new"


def _few(lines: list[str] | tuple[str, ...]) -> tuple[str, ...]:
    if len(lines) <= LINES:
        return tuple(lines)
    return (*lines[: LINES - 1], f"  … {len(lines) - LINES + 1} lines more")
