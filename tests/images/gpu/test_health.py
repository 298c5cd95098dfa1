"""Every fault of a GPU is found, and a healthy GPU has none."""

from __future__ import annotations

import re
from typing import Any

import pytest
from gpu.checks import FINDINGS, HEALTHY, PreflightReport
from gpu.findings import Code

from contract.documents.node import GpuPromise
from lab.nvml.machine import H100, LOST, RESET_REQUIRED, StandInMachine, gpu
from tests.images.gpu.conftest import Preflight

SECOND = gpu(1).uuid


def found(report: PreflightReport) -> list[tuple[Code, str]]:
    return [(finding.code, finding.gpu) for finding in report.findings]


def broken(**changes: Any) -> StandInMachine:
    """Return a machine with two GPUs, the second with a fault."""
    return StandInMachine(gpus=(gpu(0), gpu(1, **changes)))


def test_a_well_machine(preflight: Preflight) -> None:
    report = preflight()
    assert found(report) == []
    assert report.exit_code == HEALTHY
    first = report.gpus[0]
    assert (first.uuid, first.name, first.pci, first.memory_mib) == (gpu(0).uuid, H100, "0000:18:00", 81559)
    assert (first.temperature_c, first.persistence, first.uncorrected_ever) == (31, True, 0)
    assert (report.driver, report.cuda) == ("535.309.01", "12.2")


def test_what_a_gpu_does_not_support_is_not_wrong_with_it(preflight: Preflight) -> None:
    absent = dict.fromkeys(
        (
            "ecc",
            "volatile_uncorrected",
            "aggregate_uncorrected",
            "remapped_correctable",
            "remapped_uncorrectable",
            "remap_pending",
            "remap_failed",
            "temperature_c",
            "persistence",
            "memory_mib",
        )
    )
    report = preflight(StandInMachine(gpus=(gpu(0, **absent, links=()), gpu(1, **absent, links=()))))
    assert found(report) == []
    assert (report.gpus[0].ecc, report.gpus[0].remapped, report.gpus[0].links) == (None, None, ())


@pytest.mark.parametrize(
    ("changes", "code", "says"),
    [
        ({"ecc": 0}, Code.ECC_OFF, "--ecc-config=1"),
        ({"ecc": 0, "ecc_pending": 1}, Code.ECC_OFF, "ECC is off: reboot"),
        ({"ecc": 1, "ecc_pending": 0}, Code.ECC_CHANGE_PENDING, "after the next reboot"),
        ({"volatile_uncorrected": 3, "aggregate_uncorrected": 7}, Code.ECC_UNCORRECTED, r"^3 ECC .*\(7 in its life\)"),
        ({"retirement_pending": 1}, Code.ECC_RETIREMENT_PENDING, "reboot"),
        ({"remap_pending": 1}, Code.ROW_REMAP_PENDING, "wait to be remapped"),
        ({"remap_failed": 1, "remapped_uncorrectable": 8}, Code.ROW_REMAP_FAILED, "8 rows"),
        ({"recovery_action": 2}, Code.GPU_RESET_REQUIRED, "reboot the machine"),
        ({"result": RESET_REQUIRED}, Code.GPU_RESET_REQUIRED, "NVML_ERROR_RESET_REQUIRED"),
        ({"result": 999}, Code.NVML_FAILED, "nvmlDeviceGetHandleByIndex_v2: NVML_ERROR_UNKNOWN"),
        ({"result": LOST}, Code.GPU_LOST, "GPU 1: .*NVML_ERROR_GPU_IS_LOST"),
        ({"links": (1,) * 17 + (0,)}, Code.NVLINK_DOWN, r"17 of 18 NVLinks are active \(down: 17\)"),
        ({"links": (0,) * 18}, Code.NVLINK_DOWN, "0 of 18"),
        ({"name": "NVIDIA A100-SXM4-80GB"}, Code.GPU_WRONG_MODEL, "is a NVIDIA A100-SXM4-80GB, H100 was promised"),
    ],
)
def test_each_thing_that_is_wrong_is_found(
    changes: dict[str, Any], code: Code, says: str, preflight: Preflight
) -> None:
    report = preflight(broken(**changes), GpuPromise(gpus=2, model="H100"))
    finding = next(finding for finding in report.findings if finding.code is code)
    # A GPU without a handle has no known identity.
    assert finding.gpu == ("" if "result" in changes else SECOND)
    assert re.search(says, finding.message)
    assert {finding.code for finding in report.findings} <= {code, Code.GPU_MISSING}
    assert report.exit_code == FINDINGS


def test_every_problem_is_in_one_report(preflight: Preflight) -> None:
    machine = StandInMachine(gpus=(gpu(0, ecc=0, remap_pending=1), gpu(1, retirement_pending=1, links=(1, 0))))
    assert found(preflight(machine, GpuPromise(gpus=8))) == [
        (Code.GPU_MISSING, ""),
        (Code.ECC_OFF, gpu(0).uuid),
        (Code.ROW_REMAP_PENDING, gpu(0).uuid),
        (Code.ECC_RETIREMENT_PENDING, SECOND),
        (Code.NVLINK_DOWN, SECOND),
    ]


def test_a_missing_gpu(preflight: Preflight) -> None:
    (finding,) = preflight(StandInMachine(gpus=(gpu(0),))).findings
    assert finding.code is Code.GPU_MISSING
    assert f"2 promised, 1 there: {gpu(0).uuid} at 0000:18:00" in finding.message


def test_one_gpu_too_many(preflight: Preflight) -> None:
    assert found(preflight(StandInMachine(gpus=(gpu(0), gpu(1), gpu(2))))) == [(Code.GPU_UNEXPECTED, "")]


@pytest.mark.parametrize(
    ("model", "name", "good"),
    [
        ("", "NVIDIA A10G", True),
        ("A10G", "NVIDIA A10G", True),
        ("A10", "NVIDIA A10G", False),
        ("a100", "NVIDIA A100-SXM4-80GB", True),
        ("A100 80GB", "NVIDIA A100-SXM4-80GB", True),
        ("A100 40GB", "NVIDIA A100-SXM4-80GB", False),
    ],
)
def test_a_model_is_words_of_the_name(model: str, name: str, good: bool, preflight: Preflight) -> None:
    report = preflight(StandInMachine(gpus=(gpu(0, name=name),)), GpuPromise(gpus=1, model=model))
    assert found(report) == ([] if good else [(Code.GPU_WRONG_MODEL, gpu(0).uuid)])


@pytest.mark.parametrize(
    ("links", "promised", "down"),
    [
        # Cards without a bridge, or one GPU of many in a virtual machine: links with nothing at the other end.
        ([(0,) * 12, (0,) * 12], None, []),
        ([(0,) * 12, (0,) * 12], 12, [0, 1]),
        ([(1,) * 12, (0,) * 12], None, [1]),
        # Four links of twelve are bridged, and the others have no bridge.
        ([(1,) * 4 + (0,) * 8, (1,) * 4 + (0,) * 8], 4, []),
        ([(1,) * 4 + (0,) * 8, (1,) * 3 + (0,) * 9], 4, [1]),
        ([(1,) * 12, (0,) * 12], 0, []),
        # A link number that the GPU does not know is no link.
        ([(1, None, 1), (1, None, 1)], None, []),
    ],
)
def test_links(links: list[tuple[int, ...]], promised: int | None, down: list[int], preflight: Preflight) -> None:
    gpus = tuple(gpu(number, links=states) for number, states in enumerate(links))
    report = preflight(StandInMachine(gpus=gpus), GpuPromise(gpus=len(gpus), nvlinks=promised))
    assert found(report) == [(Code.NVLINK_DOWN, gpu(number).uuid) for number in down]
