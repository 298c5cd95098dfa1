"""Xid messages: errors that NVIDIA's driver has written to the kernel's log since boot."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gpu.findings import Code, GpuFinding, LookError

FATAL = {
    46: "the GPU stopped processing",
    48: "double-bit ECC error",
    54: "auxiliary power is not connected",
    62: "internal micro-controller halt",
    64: "memory could not be remapped",
    74: "NVLink error",
    79: "the GPU has fallen off the bus",
    95: "uncontained memory error",
    109: "context switch timeout",
    110: "security fault",
    119: "the GPU's system processor did not answer",
    120: "error of the GPU's system processor",
    136: "NVLink training failed",
    140: "ECC error that was not recovered",
    143: "the GPU could not be initialised",
    151: "key rotation error",
    155: "NVLink went down",
    156: "memory or unit was retired",
    158: "fatal timeout of the GPU",
}
"""Xids after which a GPU cannot be trusted before a reset or a stronger measure. The numbers are from NVIDIA's catalog
(docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html): Xids whose immediate action is to reset the GPU, to
restart the machine or to check it mechanically, and 48 and 74, for which the catalog requires a reset or reboot. All
other Xids are errors of applications, are harmless, or cannot be judged by their number alone (144 to 150;
docs/gpus.md)."""

_XID = re.compile(r"NVRM: Xid \((?:PCI:)?([0-9a-fA-F:]+)[^)]*\): (\d+)(?:, *)?(.*)")
_GPU = re.compile(r"NVRM: GPU at (?:PCI:)?([0-9a-fA-F:]+): (GPU-[0-9a-f-]+)")
"""Patterns of the driver's messages (github.com/NVIDIA/open-gpu-kernel-modules,
src/nvidia/src/kernel/gpu/rc/kernel_rc.c), such as «NVRM: Xid (PCI:0000:18:00): 79, …», with « GPU-I:05» in the
parentheses for an instance. A GPU's identity is written once, before its first Xid. Older drivers leave «PCI:» out."""


@dataclass(frozen=True, kw_only=True)
class Xid:
    """One Xid message."""

    number: int
    pci: str
    """Address on the PCI bus, such as ``0000:18:00``."""
    text: str


@dataclass(frozen=True, kw_only=True)
class Log:
    """Messages of the driver since boot."""

    xids: tuple[Xid, ...]
    uuids: Mapping[str, str]
    """Identities of GPUs with an Xid, by PCI address. GPUs that are gone are included."""


def kernel_log() -> list[str]:
    """Return the kernel's messages since boot. Raise ``LookError`` if the journal cannot be read."""
    command = ["journalctl", "--dmesg", "--boot", "--output=cat", "--no-pager", "--quiet"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    except OSError as error:
        raise LookError(f"journalctl: {error.strerror}: Xid errors are not known") from None
    if done.returncode:
        reason = done.stderr.strip() or f"exit code {done.returncode}"
        raise LookError(f"the kernel's log cannot be read, Xid errors are not known: {reason}")
    return done.stdout.splitlines()


def parse(lines: Iterable[str]) -> Log:
    """Return all Xids in their order, and the identities of the GPUs."""
    xids: list[Xid] = []
    uuids: dict[str, str] = {}
    for line in lines:
        if match := _XID.search(line):
            xids.append(Xid(number=int(match[2]), pci=match[1].lower(), text=match[3].strip()))
        elif match := _GPU.search(line):
            uuids[match[1].lower()] = match[2]
    return Log(xids=tuple(xids), uuids=uuids)


def findings(log: Log, uuids: Mapping[str, str]) -> list[GpuFinding]:
    """Return a finding for each fatal Xid number of each GPU. ``uuids`` has the identities of the present GPUs, by PCI
    address."""
    met: dict[tuple[str, int], list[Xid]] = {}
    for xid in log.xids:
        if xid.number in FATAL:
            met.setdefault((xid.pci, xid.number), []).append(xid)
    return [
        GpuFinding(
            code=Code.XID_FATAL,
            gpu=uuids.get(pci) or log.uuids.get(pci, ""),
            message=f"Xid {number} at {pci}, {_times(len(xids))} since boot: {FATAL[number]} «{xids[-1].text}»: "
            "reboot; have the GPU looked at if it comes back",
        )
        for (pci, number), xids in met.items()
    ]


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
