"""Decisions of role nvidia_driver for a machine that it has examined."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.support.modules import module_at

PLAYBOOKS = Path(__file__).resolve().parents[2] / "playbooks"
SYSTEMS = tomllib.loads((PLAYBOOKS.parent / "images" / "operating_systems.toml").read_text())
PINS = {name: system["nvidia"] for name, system in SYSTEMS.items()}
DEBIAN, UBUNTU = "debian-12", "ubuntu-24.04"
KERNEL = "6.1.0-56-amd64"
H100, V100, B200, P100 = "2330", "1DB4", "2901", "15F8"


NVIDIA = module_at(PLAYBOOKS / "filter_plugins" / "nvidia.py")


def seen(**changed: Any) -> dict[str, Any]:
    """Return the facts of a new machine with eight H100s and Debian 12, after the changes."""
    fresh = {
        "system": DEBIAN,
        "gpus": [H100] * 8,
        "switches": 0,
        "kernels": [KERNEL],
        "running": KERNEL,
        "booted": True,
        "modules": {},
        "headers": [],
        "loaded": "",
        "nouveau": False,
        "secure_boot": False,
        "users": [],
        "packages": {},
        "held": [],
        "unfinished": [],
    }
    return {**fresh, **changed}


def installed(system: str, version: str, *, kind: str = "proprietary") -> dict[str, str]:
    return dict.fromkeys([*PINS[system][kind], *PINS[system]["libraries"]], f"{version}-0+deb12u1")


def plan(machine: dict[str, Any], **wanted: Any) -> dict[str, Any]:
    defaults = {"modules": "auto", "switches": "auto", "kernel": "", "upgrade": False, "disturb": False}
    found: dict[str, Any] = NVIDIA.nvidia_plan(machine, SYSTEMS, {**defaults, **wanted})
    return found


@pytest.mark.parametrize(
    ("system", "gpus", "kind"),
    [
        (UBUNTU, [H100], "open"),
        (UBUNTU, ["1E02"], "open"),
        (UBUNTU, [V100], "proprietary"),
        (UBUNTU, [P100, H100], "proprietary"),
        (UBUNTU, [B200], "open"),
        (DEBIAN, [H100], "proprietary"),
        (DEBIAN, [V100], "proprietary"),
    ],
)
def test_the_hardware_chooses_the_modules(system: str, gpus: list[str], kind: str) -> None:
    found = plan(seen(system=system, gpus=gpus))
    assert (found["problems"], found["kind"]) == ([], kind)
    assert found["packages"][1:] == [*PINS[system][kind], *PINS[system]["libraries"]]


@pytest.mark.parametrize(
    ("machine", "wanted", "says"),
    [
        (seen(gpus=[]), {}, "no GPU of NVIDIA's on the PCI bus"),
        (seen(gpus=[B200]), {}, "debian-12 has no open modules of branch 535"),
        (
            seen(system=UBUNTU, gpus=[B200, V100]),
            {},
            "proprietary modules serve no GPUs since Blackwell, of which it has 2901",
        ),
        (
            seen(system=UBUNTU, gpus=[V100]),
            {"modules": "open"},
            "open modules serve no GPUs before Turing, of which it has 1DB4",
        ),
        (
            seen(system="debian-13"),
            {},
            r"no \[debian-13.nvidia\]: NVIDIA's driver is known for debian-12, ubuntu-24.04",
        ),
        (seen(kernels=[]), {}, "no kernel is installed"),
        (seen(secure_boot=True), {}, "Secure Boot is on"),
    ],
)
def test_what_is_in_the_way_is_said(machine: dict[str, Any], wanted: dict[str, Any], says: str) -> None:
    found = plan(machine, **wanted)
    (problem,) = found["problems"]
    assert re.search(says, problem)
    assert found["packages"] == []


def test_everything_that_is_in_the_way_is_said_at_once() -> None:
    assert len(plan(seen(gpus=[], kernels=[], secure_boot=True))["problems"]) == 3


def test_an_image_is_made_on_a_machine_without_gpus_and_for_a_kernel_that_does_not_run() -> None:
    machine = seen(gpus=[], booted=False, kernels=[], running="6.18.44-host")
    found = plan(machine, modules="proprietary", kernel="6.1.0-56-cloud-amd64")
    assert found["problems"] == []
    assert found["kernels"] == ["6.1.0-56-cloud-amd64"]
    assert found["packages"][0] == "linux-headers-6.1.0-56-cloud-amd64"


@pytest.mark.parametrize(
    ("booted", "running", "kernels"),
    [
        (True, "6.1.0-9-amd64", ["6.1.0-9-amd64", "6.1.0-56-amd64"]),
        (True, "6.1.0-56-amd64", ["6.1.0-56-amd64"]),
        # The kernel of the machine that makes the image will not boot from it, even if it has the same release.
        (False, "6.1.0-9-amd64", ["6.1.0-56-amd64"]),
        (True, "6.18.44-container-host", ["6.1.0-56-amd64"]),
    ],
)
def test_modules_are_for_the_kernel_that_boots(booted: bool, running: str, kernels: list[str]) -> None:
    machine = seen(booted=booted, running=running, kernels=["6.1.0-9-amd64", "6.1.0-56-amd64"])
    assert plan(machine)["kernels"] == kernels


def test_headers_that_are_there_are_not_asked_for_again() -> None:
    assert plan(seen(headers=[KERNEL]))["packages"][0] == PINS[DEBIAN]["proprietary"][0]


@pytest.mark.parametrize(
    ("changed", "wanted", "change"),
    [
        ({}, {}, False),
        ({"packages": installed(DEBIAN, "535.309.01")}, {}, False),
        ({"packages": installed(DEBIAN, "535.309.01")}, {"upgrade": True}, True),
        ({"packages": installed(DEBIAN, "525.147.05")}, {}, True),
        ({"packages": {"nvidia-tesla-470-kernel-dkms": "470.256.02-1"}}, {}, True),
        ({"loaded": "570.86.15"}, {}, True),
    ],
)
def test_a_driver_is_replaced_only_for_a_reason(changed: dict[str, Any], wanted: dict[str, Any], change: bool) -> None:
    assert plan(seen(**changed), **wanted)["change"] is change


def test_a_driver_in_use_is_not_replaced_unless_told() -> None:
    machine = seen(packages=installed(DEBIAN, "525.147.05"), loaded="525.147.05", users=["python3 (4711)"])
    (problem,) = plan(machine)["problems"]
    assert "python3 (4711) compute on its GPUs: drain it first, or set nvidia_driver_disturb" in problem
    assert plan(machine, disturb=True)["problems"] == []
    same = {**machine, "packages": installed(DEBIAN, "535.309.01"), "loaded": "535.309.01"}
    assert plan(same)["problems"] == []


@pytest.mark.parametrize(
    ("there", "wanted", "fabric"),
    [(4, "auto", True), (0, "auto", False), (0, "present", True), (0, "some", True), (4, "absent", False)],
)
def test_the_fabric_manager_is_for_machines_with_switches(there: int, wanted: str, fabric: bool) -> None:
    found = plan(seen(switches=there), switches=wanted)
    assert found["fabric"] == (PINS[DEBIAN]["fabric_manager"] if fabric else "")
    assert PINS[DEBIAN]["fabric_manager"] in found["pinned"]


VERSION = "535.309.01"
DONE: dict[str, Any] = {"packages": installed(DEBIAN, VERSION), "modules": {KERNEL: VERSION}, "loaded": VERSION}


@pytest.mark.parametrize(
    ("changed", "state", "why"),
    [
        ({}, "ready", ""),
        ({"loaded": ""}, "load", "modprobe nvidia"),
        ({"loaded": "535.261.03"}, "reboot", "535.261.03 runs until then"),
        ({"loaded": "", "nouveau": True}, "reboot", "nouveau has the GPUs"),
        (
            {"loaded": "", "running": "6.1.0-9-amd64"},
            "reboot",
            "6.1.0-9-amd64 runs, and the module is for 6.1.0-56-amd64",
        ),
        ({"booted": False, "loaded": ""}, "built", ""),
        ({"gpus": [], "loaded": ""}, "built", ""),
        ({"modules": {}}, "broken", "no module of 535.309.01 fits 6.1.0-56-amd64"),
        ({"modules": {KERNEL: "535.261.03"}}, "broken", "no module of 535.309.01 fits"),
        (
            {"packages": installed(DEBIAN, "550.1.1")},
            "broken",
            "nvidia-kernel-dkms is 550.1.1, and branch 535 is pinned",
        ),
        ({"packages": {}}, "broken", "nvidia-kernel-dkms is not there"),
    ],
)
def test_what_is_left_to_do_is_said(changed: dict[str, Any], state: str, why: str) -> None:
    found = NVIDIA.nvidia_state({**seen(), **DONE, **changed}, plan(seen()))
    assert found["state"] == state
    assert why in found["why"]
