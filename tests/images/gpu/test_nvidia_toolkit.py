"""Compares the driver that containers are given with the one that the kernel runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from gpu import nvidia_toolkit
from gpu.findings import LookError
from gpu.nvidia_toolkit import Specification, findings, read

from lab.nvml.machine import DRIVER
from tests.images.gpu.conftest import Preflight

YAML = """\
---
cdiVersion: 0.5.0
containerEdits:
  mounts:
  - containerPath: /usr/lib/x86_64-linux-gnu/libcuda.so.{version}
    hostPath: /usr/lib/x86_64-linux-gnu/libcuda.so.{version}
  hooks:
  - args: [nvidia-ctk, hook, create-symlinks, --link, "libcuda.so.1::/usr/lib/x86_64-linux-gnu/libcuda.so"]
kind: nvidia.com/gpu
"""
JSON = '{{"cdiVersion":"0.5.0","kind":"k8s.device-plugin.nvidia.com/gpu","x":"/usr/lib64/libnvidia-ml.so.{version}"}}'


def write(folder: Path, name: str, text: str, *, version: str = DRIVER) -> Path:
    path = folder / name
    path.write_text(text.format(version=version))
    return path


def test_specifications_are_read_as_the_toolkit_and_the_device_plugin_write_them(tmp_path: Path) -> None:
    first = write(tmp_path, "nvidia.yaml", YAML)
    second = write(tmp_path, "plugin.json", JSON, version="570.1.2")
    write(tmp_path, "nvidia.yaml.bak", YAML)
    write(tmp_path, "other.yaml", YAML.replace("nvidia.com", "example.com"))
    assert read([tmp_path, tmp_path / "none"]) == (
        Specification(path=str(first), versions=(DRIVER,)),
        Specification(path=str(second), versions=("570.1.2",)),
    )


def test_one_that_cannot_be_read_is_not_passed_over(tmp_path: Path) -> None:
    (tmp_path / "nvidia.yaml").mkdir()
    with pytest.raises(LookError, match=r"nvidia\.yaml: Is a directory: what containers are given"):
        read([tmp_path])


@pytest.mark.parametrize(("loaded", "found"), [(DRIVER, 0), ("570.1.2", 1), ("unknown", 0), ("", 0)])
def test_it_has_to_be_of_the_driver_that_runs(loaded: str, found: int) -> None:
    specification = Specification(path="/run/cdi/nvidia.yaml", versions=(DRIVER,))
    assert len(findings([specification], loaded=loaded)) == found


def test_the_preflight_finds_it(preflight: Preflight, tmp_path: Path) -> None:
    write(tmp_path, "nvidia.yaml", YAML, version="525.1.2")
    report = preflight(toolkit=lambda: read([tmp_path]))
    [finding] = report.findings
    assert (finding.code, report.exit_code) == ("DriverToolkitMismatch", 1)
    assert f"libraries of 525.1.2, the kernel runs {DRIVER}" in finding.message
    write(tmp_path, "nvidia.yaml", YAML)
    assert preflight(toolkit=lambda: read([tmp_path])).exit_code == 0


def test_they_are_where_runtimes_look() -> None:
    assert [str(folder) for folder in nvidia_toolkit.FOLDERS] == ["/etc/cdi", "/run/cdi"]
