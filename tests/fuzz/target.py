"""A reader of what others wrote, as a function of bytes."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).parents[2]
"""The top of the project. Other modules that know it import what a fuzzer is to follow."""


@dataclass(frozen=True)
class Target:
    """One reader. An exception that it documents is an answer. Any other one is a defect, and so is a reader that hangs
    or takes much memory."""

    read: Callable[[bytes], object]
    seeds: tuple[Any, ...]
    """Examples of what it reads: plain data, written as JSON (which is YAML as well), or bytes as they are."""

    def written(self) -> list[bytes]:
        """Return the seeds as bytes."""
        return [seed if isinstance(seed, bytes) else json.dumps(seed).encode() for seed in self.seeds]


Make = Callable[[Path], Target]
"""Makes a target with an empty folder of its own. It imports what it needs, so that a fuzzer can follow that."""
