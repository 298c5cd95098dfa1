"""Promises of node.json about GPUs, and the command that it may name."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from gpu import trial
from gpu.declared_gpus import read_declared_gpus
from gpu.findings import Code, LookError

from contract.documents.node import GpuPromise
from lab.nvml.machine import StandInMachine
from tests.images.gpu.conftest import Preflight


def promise(folder: Path, node: Any) -> GpuPromise:
    path = folder / "node.json"
    path.write_text(json.dumps(node))
    return read_declared_gpus(path)


def test_a_node_that_says_nothing_of_gpus_has_none(tmp_path: Path) -> None:
    assert promise(tmp_path, {"role": "node"}) == GpuPromise()


def test_everything_that_can_be_promised(tmp_path: Path) -> None:
    node = {"role": "node", "gpus": 8, "gpu_model": "H100", "gpu_nvlinks": 18, "gpu_check": ["dcgmi", "diag"]}
    assert promise(tmp_path, node) == GpuPromise(gpus=8, model="H100", nvlinks=18, check=("dcgmi", "diag"))


@pytest.mark.parametrize(
    ("node", "says"),
    [
        ({"gpus": "8"}, "gpus must be a number, not '8'"),
        ({"gpus": True}, "gpus must be a number, not True"),
        ({"gpus": -1}, "gpus must be a number, not -1"),
        ({"gpu_model": 100}, "gpu_model must be a text, not 100"),
        ({"gpu_nvlinks": "18"}, "gpu_nvlinks must be a number, not '18'"),
        ({"gpu_check": "dcgmi diag"}, "gpu_check must be a list"),
        ({"gpu_check": ["dcgmi", 3]}, "gpu_check"),
        ([], "not an object"),
    ],
)
def test_what_is_no_promise(node: Any, says: str, tmp_path: Path) -> None:
    with pytest.raises(LookError, match=says):
        promise(tmp_path, node)


def test_a_file_that_is_not_there_or_broken(tmp_path: Path) -> None:
    with pytest.raises(LookError, match="is not known"):
        read_declared_gpus(tmp_path / "node.json")
    (tmp_path / "node.json").write_text("{")
    with pytest.raises(LookError, match="is not known"):
        read_declared_gpus(tmp_path / "node.json")


def test_a_trial_that_passes(preflight: Preflight) -> None:
    assert preflight(promise=GpuPromise(gpus=2, check=("true",))).findings == ()


def test_a_trial_that_fails_is_found_with_its_last_words(preflight: Preflight) -> None:
    check = ("sh", "-c", "seq 0 8; echo memory: bad >&2; exit 7")
    (finding,) = preflight(promise=GpuPromise(gpus=2, check=check)).findings
    assert finding.code is Code.CHECK_FAILED
    assert finding.message.endswith("exit code 7: 5 | 6 | 7 | 8 | memory: bad")


def test_a_trial_that_cannot_be_started() -> None:
    (finding,) = trial.run(("/no/such/program",))
    assert "cannot be started: No such file" in finding.message


def test_a_trial_that_hangs_is_ended_with_all_that_it_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The trial's child holds a lock as long as it lives. The time is over once the child says that it runs."""
    lock, running = tmp_path / "lock", tmp_path / "running"
    os.mkfifo(running)

    class Hanging(subprocess.Popen[bytes]):
        def wait(self, timeout: float | None = None) -> int:
            if timeout == trial.LIMIT_S:
                assert running.read_text() == "yes\n"
                raise subprocess.TimeoutExpired(self.args, timeout)
            return super().wait(timeout)

    monkeypatch.setattr(subprocess, "Popen", Hanging)
    script = f"exec 9>{lock}; flock 9; (echo yes >{running}; exec sleep 3600) & wait"
    (finding,) = trial.run(("sh", "-c", script))
    assert "did not end within 900 s" in finding.message
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)


def test_there_is_nothing_to_try_without_gpus(preflight: Preflight) -> None:
    report = preflight(StandInMachine(gpus=()), GpuPromise(gpus=1, check=("false",)))
    assert [finding.code for finding in report.findings] == [Code.GPU_MISSING]
