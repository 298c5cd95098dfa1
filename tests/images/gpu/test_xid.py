"""Errors in the kernel's log that mean that a GPU is broken."""

from __future__ import annotations

from pathlib import Path

import pytest
from gpu import xid
from gpu.checks import CANNOT_LOOK, FINDINGS
from gpu.findings import Code, LookError

from lab.nvml.machine import StandInMachine, gpu
from tests.images.gpu.conftest import Preflight
from tests.support.programs import write_program

GONE = "GPU-0b11d014-1685-04bd-26ed-5fc0bc1c44ae"
LOG = f"""\
nvidia: loading out-of-tree module taints kernel.
NVRM: loading NVIDIA UNIX x86_64 Kernel Module  535.309.01  Mon Feb 10 10:00:00 UTC 2025
NVRM: GPU at PCI:0000:2b:00: {GONE}
NVRM: Xid (PCI:0000:2b:00): 79, GPU has fallen off the bus.
NVRM: GPU 0000:2b:00.0: GPU has fallen off the bus.
NVRM: Xid (PCI:0000:19:00): 31, pid=1896, name=python, Ch 00000008, intr 10000000. MMU Fault
NVRM: Xid (PCI:0000:19:00 GPU-I:05): 95, pid=1897, name=python, Uncontained: LTC DRAM
NVRM: Xid (PCI:0000:19:00 GPU-I:05 GPU-CI:01): 95, pid=1898, name=python, Uncontained: LTC DRAM again
NVRM: Xid (0000:18:00): 48, An uncorrectable double bit error (DBE) has been detected on GPU
NVRM: Xid (PCI:0000:18:00): 63, pid=1896, Row Remapper: New row marked for remapping, reset gpu to activate.
"""


def test_messages_are_read() -> None:
    log = xid.parse(LOG.splitlines())
    assert [(one.number, one.pci) for one in log.xids] == [
        (79, "0000:2b:00"),
        (31, "0000:19:00"),
        (95, "0000:19:00"),
        (95, "0000:19:00"),
        (48, "0000:18:00"),
        (63, "0000:18:00"),
    ]
    assert log.xids[0].text == "GPU has fallen off the bus."
    assert log.uuids == {"0000:2b:00": GONE}


def test_only_broken_gpus_are_found_each_error_once(preflight: Preflight) -> None:
    report = preflight(kernel_log=LOG.splitlines)
    assert [(finding.code, finding.gpu) for finding in report.findings] == [
        (Code.XID_FATAL, GONE),
        (Code.XID_FATAL, gpu(1).uuid),
        (Code.XID_FATAL, gpu(0).uuid),
    ]
    lost, uncontained, double = (finding.message for finding in report.findings)
    assert "Xid 79 at 0000:2b:00, once since boot: the GPU has fallen off the bus" in lost
    assert "Xid 95 at 0000:19:00, 2 times since boot" in uncontained
    assert "Uncontained: LTC DRAM again" in uncontained
    assert "Xid 48" in double
    assert report.exit_code == FINDINGS


def test_a_gpu_that_never_said_who_it_is() -> None:
    log = xid.parse(["[   12.3] NVRM: Xid (PCI:0000:3B:00): 79, GPU has fallen off the bus."])
    (finding,) = xid.findings(log, {})
    assert (finding.gpu, "0000:3b:00" in finding.message) == ("", True)


@pytest.mark.parametrize("number", [13, 31, 43, 45, 63, 68, 94])
def test_errors_of_applications_and_what_was_mended_are_not_fatal(number: int, preflight: Preflight) -> None:
    assert preflight(kernel_log=lambda: [f"NVRM: Xid (PCI:0000:18:00): {number}, pid=1"]).findings == ()


def test_they_are_found_without_a_driver_that_answers(preflight: Preflight) -> None:
    report = preflight(StandInMachine(init_result=9), kernel_log=LOG.splitlines)
    assert [finding.gpu for finding in report.findings if finding.code is Code.XID_FATAL] == [GONE, "", ""]


def journalctl(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    write_program(folder / "journalctl", f"#!/bin/sh\n{script}\n")
    monkeypatch.setenv("PATH", str(folder), prepend=":")


def test_the_journal_is_asked_for_the_kernels_words_since_boot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journalctl(tmp_path, 'printf "%s\\n" "$@"', monkeypatch)
    assert {"--dmesg", "--boot", "--output=cat"} <= set(xid.kernel_log())


def test_a_journal_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, preflight: Preflight) -> None:
    journalctl(tmp_path, "echo no permission >&2; exit 1", monkeypatch)
    with pytest.raises(LookError, match="no permission"):
        xid.kernel_log()
    report = preflight(kernel_log=xid.kernel_log)
    assert (report.exit_code, report.findings) == (CANNOT_LOOK, ())
    monkeypatch.setenv("PATH", "")
    with pytest.raises(LookError, match="journalctl"):
        xid.kernel_log()
