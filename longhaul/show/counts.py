"""How many of something there are: always, and at most."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Span:
    """A number that moves between two bounds, both included."""

    min: int
    max: int

    def __add__(self, other: Span) -> Span:
        return Span(min=self.min + other.min, max=self.max + other.max)

    def times(self, factor: int) -> Span:
        """So many of each."""
        return Span(min=self.min * factor, max=self.max * factor)

    def __str__(self) -> str:
        return f"{self.min:,}..{self.max:,}" if self.min < self.max else f"{self.max:,}"


@dataclass(frozen=True, kw_only=True)
class GpuCount:
    """GPUs of one model."""

    model: str
    """Words of their name; empty where the environment names none."""
    count: Span

    def __str__(self) -> str:
        return f"{self.count} {self.model or 'of any model'}"


def exactly(count: int) -> Span:
    """So many, always."""
    return Span(min=count, max=count)


def total(spans: Iterable[Span]) -> Span:
    """All of them together."""
    return sum(spans, exactly(0))


def by_model(counts: Iterable[GpuCount]) -> tuple[GpuCount, ...]:
    """One count a model, the largest first; models of which there are none are left out."""
    found: dict[str, Span] = {}
    for each in counts:
        found[each.model] = found.get(each.model, exactly(0)) + each.count
    merged = (GpuCount(model=model, count=count) for model, count in found.items() if count.max)
    return tuple(sorted(merged, key=lambda each: (-each.count.max, each.model)))
