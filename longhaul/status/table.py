"""The status for people and for programs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Any

from longhaul.status.fleet import NodeStatus
from longhaul.status.verdict import Verdict
from longhaul.status.verdicts import Status, StoreStatus

RED, YELLOW, GREEN, PLAIN = "\033[31m", "\033[33m", "\033[32m", "\033[0m"
NODES_SHOWN = 40
"""With more nodes than these, only those that are not well are shown."""
_UNITS = ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"), (1, "B"))
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
    parts += [(f"pool {pool.name}", pool.verdict, pool.reason) for pool in status.pools]
    parts += [(f"add-on {addon.name}", addon.verdict, addon.reason) for addon in status.addons]
    blocks = [
        _table(("MACHINE", "VERDICT", "POWER", "PROVISIONING", "REASON"), machines, colour=colour),
        _table(("MEMBER", "VERDICT", "REASON"), members, colour=colour),
        *_links(status, colour=colour),
        *_nodes(status.nodes, colour=colour),
        _table(("PART", "VERDICT", "REASON"), parts, colour=colour),
        _summary(status, colour=colour),
    ]
    return "\n\n".join(blocks)


def _links(status: Status, *, colour: bool) -> list[str]:
    rows = [
        (
            link.name,
            link.verdict,
            f"{link.up}/{link.tunnels}" if link.tunnels else "-",
            _ago(link.since),
            _size(link.bytes_in),
            _size(link.bytes_out),
            link.reason,
        )
        for link in status.links
    ]
    head = ("LINK", "VERDICT", "TUNNELS", "SINCE", "IN", "OUT", "REASON")
    return [_table(head, rows, colour=colour)] if rows else []


def _nodes(nodes: Sequence[NodeStatus], *, colour: bool) -> list[str]:
    """All of a few; of many those that are not well."""
    shown = nodes if len(nodes) <= NODES_SHOWN else [node for node in nodes if node.verdict is not Verdict.OK]
    rows = [
        (
            node.name,
            node.verdict,
            node.site or "-",
            node.pool or "-",
            _ago(node.created),
            node.version or "-",
            node.reason,
        )
        for node in shown
    ]
    head = ("NODE", "VERDICT", "SITE", "POOL", "AGE", "VERSION", "REASON")
    return [_table(head, rows, colour=colour)] if rows else []


def _ago(text: str) -> str:
    """How long ago a time of RFC 3339 was; ``-`` for none."""
    try:
        then = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return "-"
    passed = datetime.now(tz=UTC) - (then if then.tzinfo else then.replace(tzinfo=UTC))
    for unit, name in ((timedelta(days=1), "d"), (timedelta(hours=1), "h"), (timedelta(minutes=1), "m")):
        if passed >= 2 * unit:
            return f"{passed // unit}{name}"
    return f"{max(0, round(passed.total_seconds()))}s"


def _size(count: int | None) -> str:
    if count is None:
        return "-"
    return next(f"{count / size:.1f} {unit}" for size, unit in _UNITS if count >= size or size == 1)


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
