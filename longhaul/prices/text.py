"""Renders the results of `longhaul prices`: as text of 100 columns, and as JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

from components.model.prices.book import name_of
from longhaul.costs.cost import EnvironmentCost
from longhaul.costs.text import cost_json
from longhaul.prices.age import PriceBookCheck
from longhaul.prices.gather import Gathered
from longhaul.report.text import wrapped

T = TypeVar("T")


def gathered_text(result: Gathered, *, to: Path) -> str:
    """Return text about the prices that were read, and about the prices that were not read, with the reasons."""
    lines = [f"{to}: {len(result.read)} prices read, {len(result.kept)} kept as they were"]
    if result.missing:
        lines.append("not found:")
        for why, keys in _by_reason(result.missing).items():
            lines += [f"  {name_of(key)}" for key in keys]
            lines.append(f"      {why}")
    if result.failed:
        lines.append("not read; another run reads only these:")
        for why, names in _by_reason(result.failed).items():
            lines += [*(f"  {name}" for name in names), f"      {why}"]
    return "\n".join(lines)


def gathered_json(result: Gathered, *, to: Path, cost: EnvironmentCost) -> dict[str, Any]:
    """Return the result of reading prices as plain values for programs, with the cost."""
    return {
        "file": str(to),
        "read": [name_of(key) for key in result.read],
        "kept": [name_of(key) for key in result.kept],
        "missing": {name_of(key): why for key, why in result.missing.items()},
        "failed": dict(result.failed),
        "cost": cost_json(cost),
    }


def check_text(report: PriceBookCheck, *, path: Path, days: int) -> str:
    """Return text about missing and old prices."""
    lines = [f"{path}: {report.good} good, {len(report.missing)} missing, {len(report.old)} older than {days} days"]
    lines += (f"  missing  {name_of(key)}, for {', '.join(groups)}" for key, groups in report.missing.items())
    for entry in report.old:
        age = f"{entry.days} days ago" if entry.days >= 0 else "a day in the future"
        lines.append(
            f"  old      {name_of(entry.key)}: read on {entry.price.read}, {age}; {_brief(entry.price.source)}"
        )
    lines += (f"  note     {name_of(key)}: no spot price, so the ordinary one counts" for key in report.stands_in)
    return "\n".join(line for whole in lines for line in wrapped(whole, hanging=" " * 6))


def check_json(report: PriceBookCheck, *, path: Path, days: int) -> dict[str, Any]:
    """Return the result of a check as plain values for programs."""
    return {
        "file": str(path),
        "days": days,
        "healthy": report.healthy,
        "good": report.good,
        "missing": {name_of(key): list(groups) for key, groups in report.missing.items()},
        "old": {
            name_of(entry.key): {"read": entry.price.read.isoformat(), "source": entry.price.source}
            for entry in report.old
        },
        "stands_in": [name_of(key) for key in report.stands_in],
    }


def _by_reason(left_out: dict[T, str]) -> dict[str, list[T]]:
    by_reason: dict[str, list[T]] = {}
    for key, why in left_out.items():
        by_reason.setdefault(why, []).append(key)
    return by_reason


def _brief(source: str) -> str:
    """Return a URL without its query."""
    return source.partition("?")[0]
