"""Filters of role nvidia_driver. ``nvidia_plan`` returns the packages that a machine needs, and the problems.
``nvidia_state`` returns the result. Both read the output of the role's ``look.py``. ``driver_replaced_by`` returns, for
role node, the drivers that the pinned branch would replace."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

TURING = 0x1E00
"""Lowest PCI device id of the GPUs since Turing, which have a processor for the open modules. The first such GPUs are
1E02 and following ("Compatible GPUs" in the README of github.com/NVIDIA/open-gpu-kernel-modules; V100s are 1DB0 to
1DF6)."""
BLACKWELL = 0x2900
"""Lowest PCI device id of the GPUs without proprietary modules (NVIDIA, "NVIDIA Transitions Fully Towards Open-Source
GPU Kernel Modules", 2024). The B200 is 2901. The highest ids before are Ada's 28xx."""
OPEN, PROPRIETARY = "open", "proprietary"
DRIVER = re.compile(r"nvidia-(.+-)?dkms(-.+)?")
"""Names of packages with kernel modules: Debian's nvidia-kernel-dkms and nvidia-tesla-…-kernel-dkms, Ubuntu's and
NVIDIA's nvidia-dkms-…. Only one such package can be installed."""

RUNS = "nvidia:"
"""Prefix that ``versions.sh`` of role node writes before the operating system's name, for a machine with a running
driver."""


class FilterModule:
    """Entry point that Ansible loads."""

    def filters(self) -> dict[str, Any]:
        return {
            "driver_replaced_by": driver_replaced_by,
            "nvidia_plan": nvidia_plan,
            "nvidia_state": nvidia_state,
        }


def nvidia_plan(observed: Mapping[str, Any], systems: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Return the plan for a machine's driver. ``systems`` is images/operating_systems.toml. ``wanted`` has ``modules``
    (auto, open, proprietary), ``switches`` (auto, present, some, absent), ``kernel`` (a release, or empty), ``upgrade``
    and ``disturb``.

    The plan has ``problems`` (if there are any, everything else is empty), ``kind`` of the modules, ``branch``,
    ``kernels`` for which modules are built, ``packages``, ``pinned`` (the packages of the branch, with the fabric
    manager), ``driver`` (the package whose version is the driver's), ``change`` (whether an existing driver is
    replaced), ``fabric`` (the fabric manager's package, or empty) and ``user`` of nvidia-persistenced.
    """
    pins = _pins(systems)
    pin = pins.get(observed["system"])
    if pin is None:
        known = ", ".join(sorted(pins))
        return _refused(
            f"images/operating_systems.toml has no [{observed['system']}.nvidia]: NVIDIA's driver is known for {known}"
        )
    kind, problems = _kind(observed, pin, str(wanted["modules"]))
    kernels = _kernels(observed, str(wanted["kernel"]))
    if not kernels:
        problems.append(
            "no kernel is installed, and none is named, that the modules could be built for: set nvidia_driver_kernel"
        )
    if observed["secure_boot"]:
        problems.append(
            "Secure Boot is on, so the kernel refuses modules that were built here: turn it off in the firmware, or "
            "enrol a key and have DKMS sign with it"
        )
    change = kind != "" and _changes(observed, pin, kind, upgrade=bool(wanted["upgrade"]))
    if change and observed["users"] and not wanted["disturb"]:
        problems.append(
            f"its driver is to be replaced while {', '.join(observed['users'])} compute on its GPUs: drain it first, "
            "or set nvidia_driver_disturb"
        )
    if problems:
        return _refused(*problems)
    headers = [pin["headers"].format(kernel=kernel) for kernel in kernels if kernel not in observed["headers"]]
    switched = wanted["switches"] in ("present", "some") or (wanted["switches"] == "auto" and observed["switches"] > 0)
    return {
        "problems": [],
        "kind": kind,
        "branch": pin["branch"],
        "kernels": kernels,
        "packages": [*headers, *pin[kind], *pin["libraries"]],
        "pinned": [*pin[kind], *pin["libraries"], pin["fabric_manager"]],
        "driver": pin[kind][0],
        "change": change,
        "fabric": pin["fabric_manager"] if switched else "",
        "user": pin["persistence_user"],
    }


def _pins(systems: Mapping[str, Any]) -> dict[str, Any]:
    """Return the pinned driver of each operating system that has one."""
    return {name: system["nvidia"] for name, system in systems.items() if "nvidia" in system}


def _refused(*problems: str) -> dict[str, Any]:
    nothing: dict[str, Any] = {"kind": "", "branch": "", "kernels": [], "packages": [], "pinned": [], "driver": ""}
    return {"problems": list(problems), **nothing, "change": False, "fabric": "", "user": ""}


def _kind(observed: Mapping[str, Any], pin: Mapping[str, Any], wanted: str) -> tuple[str, list[str]]:
    """Return the kind of modules, and the problems. The kind is the requested kind, or the kind that the GPUs need if
    ``wanted`` is ``auto``."""
    gpus = {name: int(name, 16) for name in observed["gpus"]}
    old = [name for name, number in gpus.items() if number < TURING]
    new = [name for name, number in gpus.items() if number >= BLACKWELL]
    if wanted == "auto" and not gpus:
        return "", [
            "there is no GPU of NVIDIA's on the PCI bus (`lspci -nn -d 10de:`): look whether it is seated and on; to "
            "make an image on a machine without one, set nvidia_driver_modules"
        ]
    kind = wanted
    if wanted == "auto":
        # The proprietary modules support GPUs from Turing to Hopper too, so they are used where the system has no open
        # ones.
        kind = OPEN if not old and (new or pin[OPEN]) else PROPRIETARY
    problems = list(_unserved(kind, old, new))
    if not pin[kind]:
        problems.append(
            f"{observed['system']} has no {kind} modules of branch {pin['branch']} (images/operating_systems.toml)"
        )
    return ("", problems) if problems else (kind, [])


def _unserved(kind: str, old: list[str], new: list[str]) -> Iterator[str]:
    if kind == OPEN and old:
        yield f"the open modules serve no GPUs before Turing, of which it has {', '.join(old)}: take proprietary ones"
    if kind == PROPRIETARY and new:
        yield (
            f"the proprietary modules serve no GPUs since Blackwell, of which it has {', '.join(new)}: take the open "
            "ones; beside GPUs before Turing there is no driver for both"
        )


def _kernels(observed: Mapping[str, Any], named: str) -> list[str]:
    """Return the kernel releases for which modules are needed: the release in ``named``, or else the newest installed
    release, which will be booted, and the running release if it is one of the machine's own."""
    if named:
        return [named]
    installed = list(observed["kernels"])
    running = observed["running"] if observed["booted"] and observed["running"] in installed else None
    return [*({running} if running else set()), *(kernel for kernel in installed[-1:] if kernel != running)]


def _changes(observed: Mapping[str, Any], pin: Mapping[str, Any], kind: str, *, upgrade: bool) -> bool:
    """Return whether an existing driver must be replaced: a driver of another branch or kind, or any driver if
    ``upgrade`` is set."""
    installed = observed["packages"]
    if any(DRIVER.fullmatch(name) and name not in pin[kind] for name in installed):
        return True
    version = upstream(installed.get(pin[kind][0], ""))
    if version:
        return upgrade or not of_branch(version, pin["branch"])
    # No package has loaded it.
    return bool(observed["loaded"])


def upstream(version: str) -> str:
    """Return the driver's version in a package's version, such as ``535.309.01`` in ``535.309.01-0+deb12u1``."""
    return version.rpartition(":")[2].rsplit("-", 1)[0]


def of_branch(version: str, branch: str) -> bool:
    """Return whether the driver's version is of the branch."""
    return version.partition(".")[0] == branch


def driver_replaced_by(runs: Iterable[str], systems: Mapping[str, Any]) -> list[str]:
    """Return a few words for each driver on a machine that the pinned branch would replace. ``runs`` has lines of
    ``nvidia:SYSTEM`` and a version. The result is empty for a system without a pinned branch, which the role itself
    reports."""
    pins = _pins(systems)
    lines = (line.split(maxsplit=1) for line in runs if line.startswith(RUNS))
    pairs = ((pins.get(name.removeprefix(RUNS)), version) for name, version in lines)
    return [
        f"driver {version} -> {pin['branch']}"
        for pin, version in pairs
        if pin and not of_branch(version, pin["branch"])
    ]


def nvidia_state(observed: Mapping[str, Any], plan: Mapping[str, Any]) -> dict[str, Any]:
    """Return the result on a machine: ``state``, ``why``, and the driver's ``version``, ``kind``, ``kernels`` and
    ``loaded``.

    The states are ``built`` (an image, or a machine without GPUs that makes an image, so no driver runs), ``ready``,
    ``load`` (the module has only to be loaded), ``reboot`` (another version, another kernel or another driver runs),
    and ``broken`` (a kernel has no module of the installed version, or the installed branch is not the pinned branch).
    """
    version = upstream(observed["packages"].get(plan["driver"], ""))
    facts = {"version": version, "kind": plan["kind"], "kernels": plan["kernels"], "loaded": observed["loaded"]}
    state, why = _state(observed, plan, version)
    return {"state": state, "why": why, **facts}


def _state(observed: Mapping[str, Any], plan: Mapping[str, Any], version: str) -> tuple[str, str]:
    running = observed["running"]
    lacking = [kernel for kernel in plan["kernels"] if observed["modules"].get(kernel) != version]
    if not version or not of_branch(version, plan["branch"]):
        return "broken", f"{plan['driver']} is {version or 'not there'}, and branch {plan['branch']} is pinned"
    if lacking:
        return (
            "broken",
            f"no module of {version} fits {', '.join(lacking)}: see /var/lib/dkms/*/{version}/build/make.log",
        )
    if not observed["booted"] or not observed["gpus"]:
        return "built", ""
    if observed["nouveau"]:
        return "reboot", "nouveau has the GPUs until then"
    if observed["loaded"] == version:
        return "ready", ""
    if observed["loaded"]:
        return "reboot", f"{observed['loaded']} runs until then, {version} is installed"
    if observed["modules"].get(running) != version:
        return "reboot", f"{running} runs, and the module is for {', '.join(plan['kernels'])}"
    return "load", f"{version} is installed and not loaded: modprobe nvidia"
