"""The decision log: a line for each action with its reason, and for its result."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from typing import Any

from services.autoscaler.decision_text import action_fields, action_line
from services.autoscaler.repeated_lines import RepeatedLines
from services.autoscaler.scaling_actions import ScalingAction, Verb

Write = Callable[[str], None]
"""Takes one line."""


class DecisionLog:
    """Lines for people, or JSON for programs. A line that repeats the last line about the same subject is written again
    only after a while."""

    def __init__(self, write: Write, *, as_json: bool, now: Callable[[], datetime]) -> None:
        self._write, self._as_json, self._now = write, as_json, now
        self._repeats = RepeatedLines()
        self._failures = 0

    def decided(self, action: ScalingAction) -> None:
        """Record a planned action."""
        if self._repeats.is_new(f"{action.verb} {action.target}", f"{action.message} {action.was} {action.size}"):
            self._line(action_line(action), action_fields(action))

    def done(self, action: ScalingAction) -> None:
        """Record a finished action, even when it repeats an earlier one."""
        if action.verb not in (Verb.TELL, Verb.HOLD):
            self._line(f"done: {action_line(action).partition(':')[0]}", {**action_fields(action), "done": True})

    def not_done(self, action: ScalingAction, why: str) -> None:
        """Record why an action is left to a later pass."""
        self._failures += 1
        if self._repeats.is_new(f"left {action.verb} {action.target}", why):
            self._line(
                f"not done: {action_line(action).partition(':')[0]}: {why}", {**action_fields(action), "left": why}
            )

    def record(self, about: str, words: str) -> None:
        """Record anything else."""
        if self._repeats.is_new(about, words):
            self._line(f"{about}: {words}", {"about": about, "message": words})

    def failures(self) -> int:
        """Return the number of actions that were left undone since the last call."""
        failures, self._failures = self._failures, 0
        return failures

    def forget_old(self) -> None:
        """Forget lines that are old enough to be written again."""
        self._repeats.forget()

    def _line(self, words: str, values: dict[str, Any]) -> None:
        if self._as_json:
            words = json.dumps({"time": self._now().isoformat(timespec="milliseconds"), **values}, default=str)
        self._write(words)
