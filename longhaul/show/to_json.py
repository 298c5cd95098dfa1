"""An overview for programs."""

from __future__ import annotations

import json
from dataclasses import asdict

from longhaul.prices.cost import EnvironmentCost
from longhaul.prices.report import cost_json
from longhaul.show.overview import Overview


def to_json(overview: Overview, *, cost: EnvironmentCost | None) -> str:
    """All of it as one object: ranges, addresses and amounts of money are strings. ``cost``: where prices are known."""
    return json.dumps({**asdict(overview), "cost": cost and cost_json(cost)}, indent=2, default=str)
