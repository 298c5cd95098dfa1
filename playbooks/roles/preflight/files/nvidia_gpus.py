"""Check the GPUs of a host that declares GPUs. Change nothing. The program prints a line for each finding, which begins
with "problem" for a fault that no run repairs, or with "unhealthy" for a fault that a run may repair or leave to the
node's own test.

The program runs on machines as root, and needs only Python's standard library. Arguments: number of declared GPUs;
source of their driver, "installed" (role nvidia_driver) or "provided" (the machine's own system); place of the host's
declaration.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

VENDOR = "0x10de"
"""Vendor id of NVIDIA, in the form of /sys."""
CLASSES = ("0x030000", "0x030200")
"""PCI classes of GPUs: VGA controllers and 3D controllers (go-nvlib, pkg/nvpci)."""
CERTIFICATE = "var/lib/kubelet/pki/kubelet-client-current.pem"
LOADED = "proc/driver/nvidia/version"
PROGRAM = "usr/local/lib/longhaul/longhaul-program"
"""Program that starts a node's programs. A host has it from the first run on."""
CHECK = "gpu.preflight"
"""Program of a node that checks its GPUs."""
PROMISE = "etc/longhaul/node.json"
"""File with the GPUs that the node should have."""
COUNTED = ("GpuMissing", "GpuUnexpected")
"""Codes of findings that are left out if the number of GPUs on the bus differs from the declared number, because that
is reported already."""
LIMIT_S = 120.0
"""Longest duration of the check in seconds, which is the node's own limit. Without persistence, the driver takes
seconds to wake each GPU."""
KILLED_S = 5.0
"""Longest time in seconds to wait for a killed process. A process inside the driver perhaps cannot be killed."""


def look(root: Path, *, declared: int, provided: bool, place: str) -> Iterator[str]:
    """Yield a line for each finding."""
    node, loaded = (root / CERTIFICATE).exists(), (root / LOADED).exists()
    there = sorted(on_bus(root))
    if len(there) != declared:
        # A run repairs a node in spite of this; the node's own test keeps pods away from it.
        yield f"{'unhealthy' if node else 'problem'} {miscounted(there, declared, place)}"
    if provided and not (node or loaded):
        yield (
            "problem its own system is to bring NVIDIA's driver (gpu_driver: provided), and no module of it runs: "
            "install it, or have role nvidia_driver do so"
        )
    # A host that is not a node yet needs no driver.
    if (node or loaded) and (root / PROGRAM).exists() and (root / PROMISE).exists():
        reported = () if len(there) == declared else COUNTED
        for line in health(root / PROGRAM, reported=reported):
            yield f"unhealthy {' '.join(line.split())}"


def on_bus(root: Path) -> Iterator[str]:
    """Yield the addresses of NVIDIA's GPUs on the PCI bus, such as ``0000:18:00.0``. No driver is needed to read the
    bus."""
    for device in (root / "sys/bus/pci/devices").glob("*"):
        if _text(device / "vendor") == VENDOR and _text(device / "class") in CLASSES:
            yield device.name


def miscounted(there: list[str], declared: int, place: str) -> str:
    """Return the message for a bus with more or fewer GPUs than declared."""
    difference = (
        f"gpus is {declared} ({place}), and {len(there)} of NVIDIA's on the PCI bus ({', '.join(there) or 'none'}): "
    )
    if len(there) > declared:
        return f"{difference}write how many there are"
    return f"{difference}see that each is seated, has power and is on in the firmware, or correct the number"


def health(program: Path, *, reported: tuple[str, ...], limit_s: float = LIMIT_S) -> Iterator[str]:
    """Yield the findings of the node's own program, except findings whose codes are in ``reported``. Programs that use
    the GPUs are not disturbed."""
    argv = [sys.executable, str(program), CHECK, "--look-only", "--json"]
    environ = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    # Files, not pipes: a process that cannot be killed would keep pipes open.
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as complaint:
        process = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=output, stderr=complaint, env=environ, start_new_session=True
        )
        try:
            code = process.wait(limit_s)
        except subprocess.TimeoutExpired:
            _end(process)
            how = f"did not end within {limit_s:.0f} s"
            yield f"the look at its GPUs {how}: the driver hangs; see the kernel log (NVRM)"
            return
        output.seek(0)
        complaint.seek(0)
        report, words = _report(output.read()), complaint.read().decode(errors="replace").strip().splitlines()
    if report is None:
        yield f"its GPUs could not be looked at: {program} ended with {code}{f': {words[-1]}' if words else ''}"
        return
    for finding in report["findings"]:
        if finding["code"] not in reported:
            gpu = f" {finding['gpu']}" if finding["gpu"] else ""
            yield f"{finding['code']}{gpu}: {finding['message']}"
    yield from (f"not seen: {what}" for what in report["unseen"])


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill the process and all processes that it started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    with suppress(subprocess.TimeoutExpired):
        process.wait(KILLED_S)


def _report(output: bytes) -> dict[str, Any] | None:
    with suppress(ValueError):
        report = json.loads(output)
        if isinstance(report, dict) and {"findings", "unseen"} <= set(report):
            return report
    return None


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def main() -> None:
    """Check this machine, and print the findings."""
    declared, driver, place = sys.argv[1:]
    for line in look(Path("/"), declared=int(declared), provided=driver == "provided", place=place):
        print(line)


if __name__ == "__main__":
    main()
