"""The disk gate: which disks a member joins with, what it says of others, and what it leaves behind."""

from __future__ import annotations

import itertools
import json
import os
import time
from dataclasses import asdict
from pathlib import Path

import pytest
from disks import gate as disk_gate
from disks.gate import Measured, declared_limits, judged, measure, metrics
from etcd import checks as etcd_checks

from components.model.control_plane.etcd import SyncLimits
from components.render.etcd import NETWORK_LIMITS
from contract.documents.etcd_disk import Limits


class Clock:
    """A clock that only syncs move, by the times given."""

    def __init__(self, *times_ms: float) -> None:
        self.now, self._times = 0.0, itertools.cycle(times_ms)

    def __call__(self) -> float:
        return self.now

    def sync(self, _file: int) -> None:
        self.now += next(self._times) / 1000


@pytest.mark.parametrize(
    ("times_ms", "median_ms", "p99_ms", "fast"),
    [
        ((0.05,), 0.05, 0.05, True),
        ((2.1,), 2.1, 2.1, False),  # a network disk
        ((0.4,), 0.4, 0.4, False),  # never slow, never fast
        ((*[0.05] * 48, 9.0, 9.0), 0.05, 9.0, False),  # fast but for one sync in twenty-five
        ((*[0.05] * 199, 9.0), 0.05, 0.05, True),
    ],
)
def test_median_and_99th_percentile_decide(
    times_ms: tuple[float, ...], median_ms: float, p99_ms: float, fast: bool, tmp_path: Path
) -> None:
    clock = Clock(*times_ms)
    found = measure(tmp_path, limits=Limits(), sync=clock.sync, clock=clock)
    assert (found.median_ms, found.p99_ms) == (pytest.approx(median_ms), pytest.approx(p99_ms))
    assert found.fast_enough is fast
    assert list(tmp_path.iterdir()) == []


def test_a_network_disk_of_2_ms_is_fast_enough_for_the_learner_alone(tmp_path: Path) -> None:
    clock = Clock(2.1)
    limits = Limits(**NETWORK_LIMITS.model_dump())
    assert measure(tmp_path, limits=limits, sync=clock.sync, clock=clock).fast_enough
    slow = Clock(*[2.1] * 48, 12.0, 12.0)
    assert not measure(tmp_path, limits=limits, sync=slow.sync, clock=slow).fast_enough


def test_what_was_measured_is_exported_again_on_a_new_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The learner's disk, with its data and what was measured, outlives the machine with its metrics."""
    for name in ("DISK", "DATA", "RECORD", "METRICS"):
        monkeypatch.setattr(disk_gate, name, tmp_path / getattr(disk_gate, name).relative_to("/"))
    disk_gate.DATA.mkdir(parents=True)
    found = measure(disk_gate.DISK, limits=Limits(median_ms=1e6, p99_ms=1e6), writes=20)
    disk_gate.RECORD.write_text(json.dumps(asdict(found)))
    assert disk_gate.main() == 0
    assert disk_gate.METRICS.read_text() == metrics(found)


def test_a_slow_disk_is_tried_three_times(tmp_path: Path) -> None:
    tries: list[float] = []

    def settles(file: int) -> None:
        """Be slow for the first two measurements."""
        tries.append(time.perf_counter())
        if len(tries) <= 2 * 20:
            time.sleep(0.003)

    limits = Limits(median_ms=2.5, p99_ms=1e6)
    assert judged(tmp_path, record=tmp_path / "record.json", limits=limits, writes=20, sync=settles).fast_enough


def test_a_disk_with_data_is_not_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk_gate, "DATA", tmp_path)
    monkeypatch.setattr(disk_gate, "judged", None)
    assert disk_gate.main() == 0


def test_a_disk_that_stands_still_is_refused_in_time(tmp_path: Path) -> None:
    clock = Clock(1000.0)
    found = measure(tmp_path, limits=Limits(), sync=clock.sync, clock=clock)
    assert (found.writes, found.fast_enough) == (disk_gate.LONGEST_S, False)


def test_a_disk_with_2_ms_more_a_sync_is_refused_and_without_them_it_is_measured_again(tmp_path: Path) -> None:
    """Stands for a network disk: a real file, each of whose syncs is followed by a pause of 2 ms."""

    def slower(file: int) -> None:
        os.fdatasync(file)
        time.sleep(0.002)

    record = tmp_path / "record.json"
    limits = Limits(median_ms=1.9, p99_ms=1e6)
    refused = judged(tmp_path, record=record, limits=limits, writes=50, sync=slower)
    assert not refused.fast_enough
    assert refused.median_ms >= 2
    (check,) = etcd_checks.disk_checks(record)
    assert not check.ok
    assert f"fdatasync takes {refused.median_ms:.2f} ms at the median (at most 1.9)" in check.detail

    again = judged(tmp_path, record=record, limits=Limits(median_ms=1e6, p99_ms=1e6), sync=lambda _file: None)
    assert again.fast_enough
    assert judged(tmp_path, record=record, limits=limits, writes=50, sync=slower) == again, (
        "a disk with data is not measured again"
    )


@pytest.mark.parametrize("record", [None, "", "{", "[]", '{"writes": 1}'])
def test_without_a_record_there_is_no_check(record: str | None, tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    if record is not None:
        path.write_text(record)
    assert etcd_checks.disk_checks(path) == ()


def test_metrics_are_in_seconds() -> None:
    text = metrics(Measured(writes=2000, median_ms=0.07, p99_ms=0.5, limits=Limits()))
    pairs = (line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    assert {name: round(float(value), 9) for name, value in pairs} == {
        'longhaul_disk_sync_seconds{quantile="0.5"}': 0.00007,
        'longhaul_disk_sync_seconds{quantile="0.99"}': 0.0005,
        'longhaul_disk_sync_limit_seconds{quantile="0.5"}': 0.0003,
        'longhaul_disk_sync_limit_seconds{quantile="0.99"}': 0.002,
    }


def test_limits_are_the_environments_or_production(tmp_path: Path) -> None:
    path = tmp_path / "limits.json"
    assert declared_limits(path) == Limits(median_ms=0.3, p99_ms=2.0)
    path.write_text(json.dumps(SyncLimits(median_ms=5, p99_ms=50).model_dump()))
    assert declared_limits(path) == Limits(median_ms=5.0, p99_ms=50.0)
