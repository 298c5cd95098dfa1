"""Health of GPUs, judged by their reports. docs/gpus.md has the source of each rule."""

from __future__ import annotations

import re
from collections.abc import Iterable

from contract.nvidia import PCI_VENDOR
from gpu.findings import Code, GpuFinding
from gpu.inventory import Gpu

_RECOVERY = {
    1: "reset it (nvidia-smi --gpu-reset) or reboot",
    2: "reboot the machine",
    3: "end the programs that use it with others",
    4: "end its programs and reset it",
}
"""Advice, by the number of the recovery action (nvml.h, ``nvmlDeviceGpuRecoveryAction_t``)."""


def memory(gpu: Gpu) -> Iterable[GpuFinding]:
    """Yield the problems of a GPU's memory, and the action that the driver requests."""
    yield from _ecc(gpu)
    if gpu.retirement_pending:
        message = "pages of its memory wait to be retired: reboot"
        yield GpuFinding(code=Code.ECC_RETIREMENT_PENDING, gpu=gpu.uuid, message=message)
    if gpu.remapped is not None and gpu.remapped.pending:
        message = "rows of its memory wait to be remapped: reset it (nvidia-smi --gpu-reset) or reboot"
        yield GpuFinding(code=Code.ROW_REMAP_PENDING, gpu=gpu.uuid, message=message)
    if gpu.remapped is not None and gpu.remapped.failed:
        rows = f"{gpu.remapped.uncorrectable} rows are remapped for uncorrectable errors"
        message = f"a row of its memory could not be remapped ({rows}): have it replaced (NVIDIA's RMA policy)"
        yield GpuFinding(code=Code.ROW_REMAP_FAILED, gpu=gpu.uuid, message=message)
    if gpu.recovery_action:
        todo = _RECOVERY.get(gpu.recovery_action, f"recovery action {gpu.recovery_action}: see nvidia-smi -q")
        yield GpuFinding(code=Code.GPU_RESET_REQUIRED, gpu=gpu.uuid, message=f"the driver says: {todo}")


def _ecc(gpu: Gpu) -> Iterable[GpuFinding]:
    if gpu.ecc is not None:
        on, later = gpu.ecc
        if not on:
            message = "ECC is off: " + ("reboot" if later else "nvidia-smi --ecc-config=1, then reboot")
            yield GpuFinding(code=Code.ECC_OFF, gpu=gpu.uuid, message=message)
        elif not later:
            message = "ECC will be off after the next reboot: nvidia-smi --ecc-config=1"
            yield GpuFinding(code=Code.ECC_CHANGE_PENDING, gpu=gpu.uuid, message=message)
    if gpu.uncorrected:
        message = (
            f"{gpu.uncorrected} ECC errors that were not corrected since the driver was loaded "
            f"({gpu.uncorrected_ever if gpu.uncorrected_ever is not None else 'unknown'} in its life): "
            "reboot; have the GPU replaced if they come back"
        )
        yield GpuFinding(code=Code.ECC_UNCORRECTED, gpu=gpu.uuid, message=message)


def links(gpus: list[Gpu], promised: int | None) -> Iterable[GpuFinding]:
    """Yield a finding for each GPU with too few active NVLinks. With ``promised``, each GPU must have at least that
    many active links. Without ``promised``, all links must be active if any link in the machine is, because cards
    without a bridge report inactive links."""
    if promised is None and not any(any(gpu.links) for gpu in gpus):
        return
    for gpu in gpus:
        active = sum(gpu.links)
        wanted = len(gpu.links) if promised is None else promised
        if active < wanted:
            down = [str(number) for number, up in enumerate(gpu.links) if not up]
            which = f" (down: {', '.join(down)})" if down else ""
            message = (
                f"{active} of {wanted} NVLinks are active{which}: see nvidia-smi nvlink --status, and "
                "nvidia-fabricmanager.service where the machine has NVSwitches"
            )
            yield GpuFinding(code=Code.NVLINK_DOWN, gpu=gpu.uuid, message=message)


def number(gpus: list[Gpu], promised: int) -> Iterable[GpuFinding]:
    """Yield a finding if there are fewer or more GPUs than promised."""
    there = ", ".join(f"{gpu.uuid} at {gpu.pci}" for gpu in gpus) or "none"
    if len(gpus) < promised:
        message = (
            f"{promised} promised, {len(gpus)} there: {there}. Compare with `lspci -d {PCI_VENDOR}:`: one that is not "
            "on the bus is loose, without power or broken; one that is, the driver refuses (kernel log: NVRM)"
        )
        yield GpuFinding(code=Code.GPU_MISSING, message=message)
    if len(gpus) > promised:
        message = f"{promised} promised, {len(gpus)} there: {there}. Correct what the environment says of this machine"
        yield GpuFinding(code=Code.GPU_UNEXPECTED, message=message)


def model(gpus: list[Gpu], promised: str) -> Iterable[GpuFinding]:
    """Yield a finding for each GPU of another model than promised. Every word of ``promised`` must be a word of the
    GPU's name. An empty ``promised`` allows any model. A GPU without a name is skipped, because it already has another
    finding."""
    for gpu in gpus:
        if gpu.name and not _words(promised) <= _words(gpu.name):
            message = f"is a {gpu.name}, {promised} was promised"
            yield GpuFinding(code=Code.GPU_WRONG_MODEL, gpu=gpu.uuid, message=message)


def _words(name: str) -> set[str]:
    return set(re.findall(r"[a-z0-9]+", name.lower()))
