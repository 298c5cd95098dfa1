"""Metrics as Prometheus reads them: what each is called and means, and its text format.

A service serves its metrics (services/metrics.py), a program of a machine leaves them in a file for node_exporter's
textfile collector. The tables in docs/reference/metrics.md are made of the declarations.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

LabelValues = tuple[str, ...]
"""Values of a metric's labels, in the order in which the metric declares them."""


@dataclass(frozen=True)
class Metric:
    """Declaration of one metric. One whose name ends with ``_total`` is a counter, every other a gauge."""

    name: str
    """``longhaul_<part>_<what>``, with the unit at its end: ``_total`` of a counter, before it ``_seconds`` or
    ``_bytes``."""
    help: str
    """Meaning: what it counts or shows, without a full stop."""
    labels: tuple[str, ...] = ()
    """Names of labels. The values of each are few: pools, sites, members of an enumeration; never pods or nodes."""

    @property
    def kind(self) -> str:
        """Return the type as Prometheus calls it."""
        return "counter" if self.name.endswith("_total") else "gauge"

    def text(self, values: Mapping[LabelValues, float]) -> str:
        """Return the metric with its values in Prometheus' text format, version 0.0.4; nothing when it has none."""
        return "".join(self._lines(values)) if values else ""

    def _lines(self, values: Mapping[LabelValues, float]) -> Iterator[str]:
        yield f"# HELP {self.name} {_escaped(self.help)}\n# TYPE {self.name} {self.kind}\n"
        for key, value in sorted(values.items()):
            pairs = zip(self.labels, (_escaped(label).replace('"', r"\"") for label in key), strict=True)
            labels = ",".join(f'{name}="{label}"' for name, label in pairs)
            yield f"{self.name}{f'{{{labels}}}' if labels else ''} {value:.15g}\n"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("\n", r"\n")
