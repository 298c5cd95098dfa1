"""The program on a machine: its output and exit codes."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from gpu import checks
from gpu import preflight as gpu_preflight
from gpu.checks import PreflightReport, Sources
from gpu.findings import Code, LookError

from contract.documents.node import GpuPromise
from lab.nvml.machine import H100, LOST, StandInMachine, gpu
from tests.images.gpu.conftest import RUNNING, Has, Preflight

Run = Callable[..., tuple[int, str]]


@pytest.fixture(name="node")
def _node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "node.json"
    path.write_text(json.dumps({"role": "node", "gpus": 2}))
    monkeypatch.setattr(gpu_preflight, "PATH", path)
    return path


@pytest.fixture(name="run")
def _run(
    node: Path, library: Path, has: Has, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Run:
    """Function that starts it on a machine and returns the exit code and the output."""
    sources = Sources(library=str(library), driver=lambda: RUNNING, kernel_log=list, toolkit=tuple)
    monkeypatch.setattr(checks, "Sources", lambda: sources)

    def run(machine: StandInMachine, *arguments: str) -> tuple[int, str]:
        has(machine)
        monkeypatch.setattr("sys.argv", ["gpu.preflight", *arguments])
        return gpu_preflight.main(), capsys.readouterr().out

    return run


def test_a_well_machine(run: Run) -> None:
    assert run(StandInMachine()) == (0, f"2 GPUs are healthy: {H100}; driver 535.309.01, CUDA 12.2\n")


def test_a_line_for_each_problem(run: Run) -> None:
    code, said = run(StandInMachine(gpus=(gpu(0, ecc=0), gpu(1, retirement_pending=1))))
    assert code == 1
    first, second = said.splitlines()
    assert first == f"EccOff {gpu(0).uuid}: ECC is off: nvidia-smi --ecc-config=1, then reboot"
    assert second.startswith(f"EccRetirementPending {gpu(1).uuid}: ")


def test_the_same_as_json(run: Run) -> None:
    code, said = run(StandInMachine(gpus=(gpu(0), gpu(1, remap_failed=1))), "--json")
    report = json.loads(said)
    assert (code, report["healthy"], report["promised"], report["driver"]) == (1, False, 2, "535.309.01")
    assert [(one["code"], one["gpu"]) for one in report["findings"]] == [("RowRemapFailed", gpu(1).uuid)]
    assert [one["pci"] for one in report["gpus"]] == ["0000:18:00", "0000:19:00"]
    assert json.loads(run(StandInMachine(), "--json")[1])["healthy"] is True


def test_without_a_promise_it_cannot_look(run: Run, node: Path) -> None:
    node.unlink()
    code, said = run(StandInMachine())
    assert (code, said.startswith("not seen: ")) == (3, True)
    assert json.loads(run(StandInMachine(), "--json")[1])["healthy"] is False


def test_what_was_found_counts_for_more_than_what_was_not_seen(preflight: Preflight) -> None:
    def fail() -> list[str]:
        raise LookError("no journal")

    report = preflight(StandInMachine(gpus=(gpu(0, result=LOST), gpu(1))), kernel_log=fail)
    assert report.exit_code == 1
    assert gpu_preflight.lines(report)[-1] == "not seen: no journal"


def test_a_look_leaves_the_trial_out(run: Run, node: Path) -> None:
    node.write_text(json.dumps({"gpus": 2, "gpu_check": ["false"]}))
    code, said = run(StandInMachine())
    assert (code, said) == (1, "GpuCheckFailed: false: exit code 1\n")
    assert run(StandInMachine(), "--look-only")[0] == 0


def test_wrong_use(run: Run) -> None:
    with pytest.raises(SystemExit, match="2"):
        run(StandInMachine(), "--jsn")


def test_a_host_that_is_promised_none(run: Run, node: Path) -> None:
    node.write_text("{}")
    assert run(StandInMachine(gpus=())) == (0, "no GPUs promised, none there\n")
    # As without an installed driver: neither module nor library.
    assert run(StandInMachine(init_result=9))[0] == 0
    code, said = run(StandInMachine())
    assert (code, said.startswith("GpuUnexpected: 0 promised, 2 there")) == (1, True)


def test_a_missing_library(has: Has, tmp_path: Path) -> None:
    sources = Sources(
        library=str(tmp_path / "libnvidia-ml.so.1"), driver=lambda: RUNNING, kernel_log=list, toolkit=tuple
    )
    report = checks.look(GpuPromise(gpus=1), sources)
    (finding,) = report.findings
    assert (finding.code, report.exit_code) == (Code.NVML_MISSING, 1)
    assert "libnvidia-ml.so.1: cannot open shared object file" in finding.message
    assert checks.look(GpuPromise(), sources) == PreflightReport()
    not_loaded = replace(sources, driver=lambda: replace(RUNNING, loaded=""))
    codes = [finding.code for finding in checks.look(GpuPromise(gpus=1), not_loaded).findings]
    assert codes == [Code.NVML_MISSING, Code.DRIVER_NOT_LOADED]


def test_it_starts_as_a_program_and_finds_the_library_where_the_loader_looks(rootfs: Path, library: Path) -> None:
    """Uses this machine's own files, which promise nothing."""
    program = rootfs / "usr/local/lib/longhaul/longhaul-program"
    assert os.access(program, os.X_OK)
    helped = subprocess.run(
        [sys.executable, "-B", program, "gpu.preflight", "--help"], capture_output=True, text=True, check=True, cwd="/"
    )
    assert "Exit codes" in helped.stdout
    load = "import sys; sys.path.insert(0, sys.argv[1]); from gpu.nvml import Nvml; Nvml()"
    command = [sys.executable, "-B", "-c", load, str(program.parent)]
    subprocess.run(command, check=True, env={"LD_LIBRARY_PATH": str(library.parent)})


def test_every_finding_is_in_the_documentation(root: Path) -> None:
    """The page has every finding, and no finding that no check makes."""
    rows = re.findall(r"^\| `([A-Z]\w+)` \|", (root / "docs/gpus.md").read_text(), flags=re.MULTILINE)
    assert sorted(rows) == sorted(Code)
