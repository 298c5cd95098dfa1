"""Capacity as text for people, and as plain values for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from longhaul.client.capacity.state import Amount, ClusterCapacity, PoolCapacity, TeamCapacity
from longhaul.terminal.ages import age
from longhaul.terminal.printable import one_line

MANY = 20
"""Maximum number of a team's waiting jobs that are shown; the oldest come first."""


def to_text(capacity: ClusterCapacity) -> str:
    """Return tables of teams, waiting jobs and pools, and the names of what is left out."""
    parts = [
        _table(("TEAM", "KIND", "GUARANTEED", "IN USE", "BORROWED", "MAY BORROW", "JOBS"), _teams(capacity.teams)),
        [one_line(f"{team.name} gets no new pods: {team.refusal}") for team in capacity.teams if team.refusal],
        _table(("TEAM", "WAITS", "ASKS", "SINCE", "FOR"), _jobs(capacity)),
        _table(("POOL", "SITE", "KIND", "NODES", "FREE", "COMING", "AT MOST", ""), _pools(capacity)),
        [f"not shown: {one_line(omission)}" for omission in capacity.hidden],
    ]
    return "\n\n".join("\n".join(part) for part in parts if part)


def to_plain(capacity: ClusterCapacity) -> dict[str, Any]:
    """Return plain values, with times as text."""
    return dict(_plain(asdict(capacity)))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value.isoformat() if isinstance(value, datetime) else value


def _teams(teams: Sequence[TeamCapacity]) -> Iterator[tuple[str, ...]]:
    for team in teams:
        jobs = f"{team.running} running, {team.waiting} waiting"
        for index, use in enumerate(team.uses):
            most = "all that is free" if use.may_borrow is None else f"{use.may_borrow:,}" if use.may_borrow else "-"
            used = (_amount(use.guaranteed), _amount(use.used), _amount(use.borrowed), most)
            yield ("" if index else team.name, use.kind, *used, "" if index else jobs)


def _jobs(capacity: ClusterCapacity) -> Iterator[tuple[str, ...]]:
    for team in capacity.teams:
        jobs = team.jobs or ()
        for index, job in enumerate(jobs[:MANY]):
            name = "" if index else team.name
            yield (name, job.name, _amount(job.asks), _since(job.since, capacity.at), job.waits_for)
        if len(jobs) > MANY:
            yield ("", f"and {len(jobs) - MANY:,} more", "", "", "")


def _pools(capacity: ClusterCapacity) -> Iterator[tuple[str, ...]]:
    for pool in capacity.pools:
        nodes = f"{pool.nodes:,}" if pool.ready == pool.nodes else f"{pool.ready:,} of {pool.nodes:,} ready"
        free = "?" if pool.free is None else _amount(pool.free)
        most = "" if pool.most is None else f"{pool.most:,}"
        coming = str(pool.coming or "-")
        yield (pool.name, pool.site, pool.kind, nodes, free, coming, most, _asked(pool, capacity.at))


def _asked(pool: PoolCapacity, now: datetime) -> str:
    """Return the state of a pool's requests to its cloud."""
    phrases = []
    if pool.asked is not None:
        phrases.append(f"{pool.region or pool.site} was asked for more {_since(pool.asked, now)} ago")
    if pool.skipped:
        again = (
            "" if pool.skipped_until is None else f", asked again in {age((pool.skipped_until - now).total_seconds())}"
        )
        phrases.append(f"{pool.skipped}{again}")
    return "; ".join(phrases)


def _amount(amount: Amount) -> str:
    parts = [f"{amount.gpus:,} GPU{'' if amount.gpus == 1 else 's'}"] if amount.gpus else []
    if amount.cores:
        parts.append(f"{round(amount.cores, 1):,.10g} cores")
    return ", ".join(parts) or "-"


def _since(moment: datetime | None, now: datetime) -> str:
    return "" if moment is None else age((now - moment).total_seconds())


def _table(head: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> list[str]:
    """Return aligned columns; nothing without rows. Cells are escaped, so that foreign text cannot forge a row."""
    lines = [tuple(map(one_line, row)) for row in rows]
    if not lines:
        return []
    lines.insert(0, head)
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]
