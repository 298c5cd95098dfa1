"""Renders a cost: as text of 100 columns, and as JSON."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from clouds.base.prices import plain
from components.model.prices.book import name_of
from longhaul.costs.cost import Cost, CostLine, EnvironmentCost
from longhaul.costs.money import total
from longhaul.costs.priced_needs import NOT_COUNTED
from longhaul.report.text import table, wrapped

HOURLY = Decimal("0.0001")
"""Unit to which hourly amounts are rounded: a public address costs less than a cent an hour."""


def cost_text(cost: EnvironmentCost) -> str:
    """Render a line for each group, the sums, and what the sums leave out."""
    rows = [("a month of 730 hours", "at least", "at most")]
    rows += (
        (f"  {group}", _sum(lines, least=True), _sum(lines, least=False)) for group, lines in cost.groups().items()
    )
    rest = " and ?" if cost.unpriced else ""
    rows.append(("  together", f"{cost.minimum.monthly}{rest}", f"{cost.maximum.monthly}{rest}"))
    lines = table(rows[0], rows[1:], right=(1, 2), indent="", width=None)
    for title, names in (("without a price, and not in the sums:", cost.unpriced), ("at another price:", cost.assumed)):
        lines += [title, *(f"  {name}" for name in names)] if names else []
    lines.append("never counted: " + "; ".join(NOT_COUNTED))
    return "\n".join(line for whole in lines for line in wrapped(whole, hanging=" " * 6))


def cost_json(cost: EnvironmentCost) -> dict[str, Any]:
    """Return everything about a cost. Amounts are text, by currency: monthly amounts are rounded to cents, hourly
    amounts to hundredths of a cent."""
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
    """Return a group's monthly sum. A question mark stands for parts without a price. Hosts need none, but without
    one they are not free either."""
    if all(line.price is None for line in lines):
        return "?" if any(line.unpriced for line in lines) else "no price"
    known = str(total((line.minimum if least else line.maximum).monthly for line in lines))
    return f"{known} and ?" if any(line.unpriced for line in lines) else known
