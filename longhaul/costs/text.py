"""Renders the output of `longhaul prices`: as text of 100 columns, and as JSON."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any, TypeVar

from clouds.base.prices import plain
from longhaul.costs.cost import Cost, CostLine, EnvironmentCost
from longhaul.costs.money import total
from longhaul.costs.names import name_of
from longhaul.costs.needs import NOT_COUNTED
from longhaul.prices.age import PriceBookCheck
from longhaul.prices.gather import Gathered
from longhaul.report.text import table, wrapped

T = TypeVar("T")

HOURLY = Decimal("0.0001")
"""Unit to which hourly amounts are rounded. A public address costs less than a cent an hour."""


def gathered_text(result: Gathered, *, to: Path) -> str:
    """Report what was read, what was not, and why."""
    lines = [f"{to}: {len(result.read)} prices read, {len(result.kept)} kept as they were"]
    if result.missing:
        lines.append("not found:")
        for why, keys in _by_reason(result.missing).items():
            lines += [f"  {name_of(key)}" for key in keys]
            lines.append(f"      {why}")
    if result.failed:
        lines.append("not read; another run asks for these only:")
        for why, names in _by_reason(result.failed).items():
            lines += [*(f"  {name}" for name in names), f"      {why}"]
    return "\n".join(lines)


def gathered_json(result: Gathered, *, to: Path, cost: EnvironmentCost) -> dict[str, Any]:
    """Return the same for programs, with the cost."""
    return {
        "file": str(to),
        "read": [name_of(key) for key in result.read],
        "kept": [name_of(key) for key in result.kept],
        "missing": {name_of(key): why for key, why in result.missing.items()},
        "failed": dict(result.failed),
        "cost": cost_json(cost),
    }


def check_text(found: PriceBookCheck, *, path: Path, days: int) -> str:
    """Report which prices are missing or old."""
    lines = [f"{path}: {found.good} good, {len(found.missing)} missing, {len(found.old)} older than {days} days"]
    lines += (f"  missing  {name_of(key)}, for {', '.join(groups)}" for key, groups in found.missing.items())
    for one in found.old:
        age = f"{one.days} days ago" if one.days >= 0 else "a day that is still to come"
        lines.append(f"  old      {name_of(one.key)}: read on {one.price.read}, {age}; {_brief(one.price.source)}")
    lines += (f"  note     {name_of(key)}: no spot price, so the ordinary one counts" for key in found.stands_in)
    return "\n".join(line for whole in lines for line in wrapped(whole, hanging=" " * 6))


def check_json(found: PriceBookCheck, *, path: Path, days: int) -> dict[str, Any]:
    """Return the same for programs."""
    return {
        "file": str(path),
        "days": days,
        "healthy": found.healthy,
        "good": found.good,
        "missing": {name_of(key): list(groups) for key, groups in found.missing.items()},
        "old": {
            name_of(one.key): {"read": one.price.read.isoformat(), "source": one.price.source} for one in found.old
        },
        "stands_in": [name_of(key) for key in found.stands_in],
    }


def cost_text(cost: EnvironmentCost) -> str:
    """Render a line for each group, the sums, and what the sums leave out."""
    rows = [("a month of 730 hours", "at least", "at most")]
    rows += (
        (f"  {group}", _sum(lines, least=True), _sum(lines, least=False)) for group, lines in cost.groups().items()
    )
    rest = " and ?" if cost.unpriced else ""
    rows.append(("  together", f"{cost.minimum.monthly}{rest}", f"{cost.maximum.monthly}{rest}"))
    lines = table(rows[0], rows[1:], right=(1, 2), indent="", width=None)
    for title, names in (("without a price, and in no sum:", cost.unpriced), ("at another price:", cost.assumed)):
        lines += [title, *(f"  {name}" for name in names)] if names else []
    lines.append("never counted: " + "; ".join(NOT_COUNTED))
    return "\n".join(line for whole in lines for line in wrapped(whole, hanging=" " * 6))


def cost_json(cost: EnvironmentCost) -> dict[str, Any]:
    """Return everything about a cost. Amounts are text, by currency: monthly ones rounded to cents, hourly ones to
    hundredths of a cent."""
    return {
        "environment": cost.environment,
        "minimum": _cost(cost.minimum),
        "maximum": _cost(cost.maximum),
        "lines": [_line(line) for line in cost.lines],
        "unpriced": list(cost.unpriced),
        "assumed": list(cost.assumed),
        "not_counted": list(NOT_COUNTED),
    }


def _line(line: CostLine) -> dict[str, Any]:
    need, price = line.need, line.price
    return {
        "group": need.group,
        "what": need.what,
        "of": name_of(need.key),
        "least": need.least,
        "most": need.most,
        "price": None
        if price is None
        else {"amount": plain(price.amount), "currency": price.currency, "unit": price.unit},
        "minimum": _cost(line.minimum),
        "maximum": _cost(line.maximum),
        **(
            {"fallbacks": {name: str(other) if other else None for name, other in line.fallbacks}}
            if line.fallbacks
            else {}
        ),
    }


def _cost(cost: Cost) -> dict[str, Any]:
    return {"hourly": cost.hourly.as_strings(HOURLY), "monthly": cost.monthly.as_strings()}


def _sum(lines: tuple[CostLine, ...], *, least: bool) -> str:
    """Return a group's monthly sum. A question mark stands for parts without a price."""
    if all(line.unpriced for line in lines):
        return "?"
    known = str(total((line.minimum if least else line.maximum).monthly for line in lines))
    return f"{known} and ?" if any(line.unpriced for line in lines) else known


def _by_reason(left_out: dict[T, str]) -> dict[str, list[T]]:
    found: dict[str, list[T]] = {}
    for one, why in left_out.items():
        found.setdefault(why, []).append(one)
    return found


def _brief(source: str) -> str:
    """Return an address without its query."""
    return source.partition("?")[0]
