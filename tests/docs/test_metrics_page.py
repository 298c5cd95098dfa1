"""Metrics: each has a help text and a name by the rule, is documented, and is used."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

from components.reference.metric_tables import MetricSource, metric_sources

FOLDERS = ("services", "images/rootfs/usr/local/lib/longhaul")
SOURCES = [source for folder in FOLDERS for source in metric_sources(folder)]
NAME = re.compile(r"longhaul(_[a-z]+)+")
UNIT_BEFORE = ("seconds", "bytes")
"""Units, which stand at the end of a name or before ``_total``."""
NO_UNITS = ("s", "ms", "minutes", "hours", "kib", "mib", "gib", "count")


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: str(source.path))
def test_each_metric_has_a_help_text_and_a_name_by_the_rule(source: MetricSource) -> None:
    for metric in source.metrics:
        words = metric.name.split("_")
        assert NAME.fullmatch(metric.name)
        assert metric.help[:1].isupper()
        assert not metric.help.endswith(".")
        assert not {*words} & {*NO_UNITS}
        bare = [word for word in words if word != "total"]
        assert [word for word in bare[:-1] if word in UNIT_BEFORE] == [], "a unit stands at the end"
        assert "total" not in words[:-1]


def test_each_metric_is_declared_once_in_the_project() -> None:
    names = [metric.name for source in SOURCES for metric in source.metrics]
    assert len({*names}) == len(names)


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: str(source.path))
def test_each_metric_is_used(source: MetricSource, root: Path) -> None:
    folder = (root / source.path).parent
    constants = re.findall(r"^([A-Z_]+) = Metric\(", (root / source.path).read_text(encoding="utf-8"), re.MULTILINE)
    assert len(constants) == len(source.metrics)
    code = "\n".join(path.read_text(encoding="utf-8") for path in folder.glob("*.py") if path.name != "metrics.py")
    assert [name for name in constants if not re.search(rf"[\[(, ]{name}[\]), ]", code)] == []


@pytest.mark.parametrize("source", metric_sources("services"), ids=lambda source: str(source.path))
def test_a_service_lists_each_of_its_metrics(source: MetricSource) -> None:
    module = import_module(".".join(source.path.with_suffix("").parts))
    assert sorted(source.metrics, key=str) == sorted(module.METRICS, key=str)
