"""Labels for a node's GPUs, with the names and values of NVIDIA's discovery."""

from __future__ import annotations

import re
from dataclasses import asdict
from typing import Any

import pytest
from gpu.features import family, labels

from lab.nvml.machine import StandInMachine, gpu
from tests.images.gpu.conftest import Preflight


def report(preflight: Preflight, *gpus: object) -> dict[str, Any]:
    return asdict(preflight(StandInMachine(gpus=gpus)))  # type: ignore[arg-type]


def test_names_and_values_are_the_discoverys(preflight: Preflight) -> None:
    assert labels(report(preflight, gpu(0), gpu(1)), there={}) == {
        "nvidia.com/gpu.present": "true",
        "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3",
        "nvidia.com/gpu.count": "2",
        "nvidia.com/gpu.memory": "81559",
        "nvidia.com/gpu.family": "hopper",
        "nvidia.com/gpu.compute.major": "9",
        "nvidia.com/gpu.compute.minor": "0",
        "nvidia.com/cuda.driver-version.full": "535.309.01",
        "nvidia.com/cuda.driver-version.major": "535",
        "nvidia.com/cuda.driver-version.minor": "309",
        "nvidia.com/cuda.driver-version.revision": "01",
        "nvidia.com/cuda.runtime-version.full": "12.2",
        "nvidia.com/cuda.runtime-version.major": "12",
        "nvidia.com/cuda.runtime-version.minor": "2",
    }


def test_of_several_models_it_is_the_one_that_most_are_of(preflight: Preflight) -> None:
    found = labels(report(preflight, gpu(0, name="NVIDIA A10"), gpu(1), gpu(2)), there={})
    assert (found["nvidia.com/gpu.product"], found["nvidia.com/gpu.count"]) == ("NVIDIA-H100-80GB-HBM3", "2")


def test_what_is_not_known_has_no_label(preflight: Preflight) -> None:
    found = labels(report(preflight, gpu(0, memory_mib=None, compute_capability=None)), there={})
    assert not [name for name in found if "memory" in name or "compute" in name or "family" in name]
    assert labels(report(preflight), there={}) == {"nvidia.com/gpu.present": "true"}


def test_where_the_discovery_runs_the_labels_are_its(preflight: Preflight) -> None:
    there = {"nvidia.com/gfd.timestamp": "1700000000"}
    assert labels(report(preflight, gpu(0)), there=there) == {"nvidia.com/gpu.present": "true"}


def test_a_name_becomes_a_label_s_value(preflight: Preflight) -> None:
    found = labels(report(preflight, gpu(0, name=f"(TM)  a/b {'x' * 80}")), there={})["nvidia.com/gpu.product"]
    assert found.startswith("TM-ab-xxx")
    assert re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?", found)
    assert len(found) == 63


@pytest.mark.parametrize(
    ("capability", "name"),
    [
        ("7.0", "volta"),
        ("7.5", "turing"),
        ("8.6", "ampere"),
        ("8.9", "ada-lovelace"),
        ("12.0", "blackwell"),
        ("99.0", "undefined"),
    ],
)
def test_families(capability: str, name: str) -> None:
    major, minor = map(int, capability.split("."))
    assert family(major, minor) == name
