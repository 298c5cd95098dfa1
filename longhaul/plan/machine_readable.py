"""A plan for programs."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from longhaul.plan.plan import Plan


def to_json(plan: Plan) -> str:
    """The whole plan: names as in :class:`longhaul.plan.plan.Plan`, money as text so that nothing is rounded."""
    content: dict[str, Any] = asdict(plan)
    content["counts"] = {str(action): number for action, number in plan.counts.items()}
    content["capacity"] = content.pop("rows")
    content["places"] = [{**part.pop("place"), "resources": part["lines"]} for part in content.pop("parts")]
    return json.dumps(content, indent=2, default=str, ensure_ascii=False) + "\n"
