"""Metrics in Prometheus' format: the name, the meaning and the text of each metric. Services serve their metrics over
HTTP (services/metrics.py). Programs on machines write their metrics to files for node_exporter's textfile collector.
The tables in docs/reference/metrics.md are generated from the declarations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

LabelValues = tuple[str, ...]
"""Values of a metric's labels, in the order of the declaration."""


@dataclass(frozen=True)
class Metric:
    """Declaration of one metric. A metric whose name ends with ``_total`` is a counter; every other is a gauge."""

    name: str
    """``longhaul_<part>_<what>`` with its unit: ``_seconds`` or ``_bytes``, and ``_total`` at the end for a counter."""
    help: str
    """Meaning of the metric: what it counts or shows, without a full stop."""
    labels: tuple[str, ...] = ()
    """Names of the labels. A label has few values, such as pools, sites or members of an enumeration, and never pods or
    nodes."""

    @property
    def kind(self) -> str:
        """Return the type in Prometheus' terms."""
        return "counter" if self.name.endswith("_total") else "gauge"

    def text(self, values: Mapping[LabelValues, float]) -> str:
        """Return the metric and its values, by their labels, in Prometheus' text format, version 0.0.4; empty without
        values."""
        return "".join(self._lines(values)) if values else ""

    def _lines(self, values: Mapping[LabelValues, float]) -> Iterator[str]:
        yield f"# HELP {self.name} {_escaped(self.help)}\n# TYPE {self.name} {self.kind}\n"
        for key, value in sorted(values.items()):
            pairs = zip(self.labels, (_escaped(label).replace('"', r"\"") for label in key), strict=True)
            labels = ",".join(f'{name}="{label}"' for name, label in pairs)
            yield f"{self.name}{f'{{{labels}}}' if labels else ''} {value:.15g}\n"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("\n", r"\n")
