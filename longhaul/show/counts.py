"""Numbers with two bounds: a minimum and a maximum."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """A number that moves between two bounds, both included."""

    min: int
    max: int

    def __add__(self, other: Bounds) -> Bounds:
        return Bounds(min=self.min + other.min, max=self.max + other.max)

    def times(self, factor: int) -> Bounds:
        """Return both bounds multiplied by ``factor``."""
        return Bounds(min=self.min * factor, max=self.max * factor)

    def __str__(self) -> str:
        return f"{self.min:,}..{self.max:,}" if self.min < self.max else f"{self.max:,}"


@dataclass(frozen=True, kw_only=True)
class GpuCount:
    """GPUs of one model."""

    model: str
    """Name of the model; empty when the environment does not name it."""
    count: Bounds

    def __str__(self) -> str:
        return f"{self.count} {self.model or 'of any model'}"


def exactly(count: int) -> Bounds:
    """Return bounds that are both ``count``."""
    return Bounds(min=count, max=count)


def total(spans: Iterable[Bounds]) -> Bounds:
    """Return the sum of all bounds."""
    return sum(spans, exactly(0))


def by_model(counts: Iterable[GpuCount]) -> tuple[GpuCount, ...]:
    """Return one count for each model, the largest first. Models without any GPU are left out."""
    totals: dict[str, Bounds] = {}
    for each in counts:
        totals[each.model] = totals.get(each.model, exactly(0)) + each.count
    merged = (GpuCount(model=model, count=count) for model, count in totals.items() if count.max)
    return tuple(sorted(merged, key=lambda each: (-each.count.max, each.model)))
