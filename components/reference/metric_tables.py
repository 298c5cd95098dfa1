"""Tables of metrics in Markdown: each metric that the code declares, with its help text."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from contract.metrics import Metric

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, kw_only=True)
class MetricSource:
    """A module that declares metrics."""

    path: Path
    """Path in the project."""
    metrics: tuple[Metric, ...]


def metric_tables(folder: str) -> str:
    """Render the metrics that the modules of a folder declare."""
    return "\n".join(
        f"`{source.path}`:\n\n| Metric | Kind | |\n|---|---|---|\n"
        + "".join(f"| `{_labelled(metric)}` | {metric.kind} | {metric.help} |\n" for metric in source.metrics)
        for source in metric_sources(folder)
    )


def metric_sources(folder: str) -> Iterator[MetricSource]:
    """Yield the modules of a folder that declare metrics, by their paths."""
    for path in sorted((ROOT / folder).rglob("*.py")):
        metrics = tuple(_declared(path.read_text(encoding="utf-8")))
        if metrics:
            yield MetricSource(path=path.relative_to(ROOT), metrics=metrics)


def _declared(source: str) -> Iterator[Metric]:
    """Yield the metrics that a module declares with literal arguments."""
    if Metric.__name__ not in source:
        return
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(func=ast.Name(id=Metric.__name__), args=arguments):
                yield Metric(*map(ast.literal_eval, arguments))


def _labelled(metric: Metric) -> str:
    return f"{metric.name}{{{', '.join(metric.labels)}}}" if metric.labels else metric.name
