"""The status for people and for programs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from longhaul.status.verdicts import Status, StoreStatus, Verdict

RED, YELLOW, GREEN, PLAIN = "\033[31m", "\033[33m", "\033[32m", "\033[0m"
_COLOURS = {Verdict.OK: GREEN, Verdict.UNKNOWN: YELLOW, Verdict.DEGRADED: YELLOW, Verdict.UNEXPECTED: YELLOW}


def to_json(status: Status) -> str:
    """The status for programs: stores by name, and whether all is well."""
    stores = {store.store: _store(store) for store in status.stores}
    return json.dumps({**asdict(status), "stores": stores, "well": status.well}, indent=2)


def _store(store: StoreStatus) -> dict[str, Any]:
    members = [{**asdict(member), "healthy": member.healthy} for member in store.members]
    return {"verdict": store.verdict, "reason": store.reason, "members": members}


def to_text(status: Status, *, colour: bool) -> str:
    """Aligned tables, and one line that sums up."""
    machines = [
        (one.name, one.verdict, one.power or "-", one.provisioning or "-", one.reason) for one in status.machines
    ]
    members = [
        (f"{store.store}/{member.name}", member.verdict, member.reason)
        for store in status.stores
        for member in store.members
    ]
    parts = [(f"{store.store} store", store.verdict, store.reason) for store in status.stores]
    parts.append(("API", status.api.verdict, status.api.reason))
    blocks = [
        _table(("MACHINE", "VERDICT", "POWER", "PROVISIONING", "REASON"), machines, colour=colour),
        _table(("MEMBER", "VERDICT", "REASON"), members, colour=colour),
        _table(("PART", "VERDICT", "REASON"), parts, colour=colour),
        _summary(status, colour=colour),
    ]
    return "\n\n".join(blocks)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], *, colour: bool) -> str:
    lines = [tuple(str(cell) for cell in row) for row in (head, *rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    return "\n".join(_line(line, widths, colour=colour) for line in lines)


def _line(cells: Sequence[str], widths: Sequence[int], *, colour: bool) -> str:
    padded = [cell.ljust(width) for cell, width in zip(cells, widths, strict=True)]
    padded[-1] = cells[-1]
    if colour and cells[1] in list(Verdict):
        padded[1] = _coloured(padded[1], Verdict(cells[1]))
    return "  ".join(padded)


def _coloured(text: str, verdict: Verdict) -> str:
    return f"{_COLOURS.get(verdict, RED)}{text}{PLAIN}"


def _summary(status: Status, *, colour: bool) -> str:
    verdict = Verdict.OK if status.well else Verdict.UNWELL
    text = f"{status.environment}: {'all is well' if status.well else 'not well'}"
    return _coloured(text, verdict) if colour else text
