"""Words of GPUs' names: those of NVIDIA's that Longhaul knows, and those of other makers, which it cannot use."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import get_close_matches

from clouds.base.faults import Caution, Fault, Location
from components.model.environment import Environment
from contract.reasons.plan import FileReason

KNOWN = frozenset(
    {
        *("A2", "A10", "A10G", "A10M", "A16", "A30", "A40", "A100", "A800", "B100", "B200", "B300", "GB200", "GB300"),
        *("GH200", "H20", "H100", "H200", "H800", "K80", "L2", "L4", "L20", "L40", "L40G", "L40S", "M60", "P4", "P40"),
        *("P100", "T4", "T4G", "T10", "V100", "V100S", "Tesla", "TITAN", "Quadro", "GeForce", "RTX", "GTX"),
    }
)
"""Words in the names of NVIDIA's GPUs (docs.nvidia.com, "NVIDIA Data Center GPU Driver", supported hardware). Graphics
cards are known by their series alone."""

BOARD = 8
"""Number of GPUs on an HGX board."""
HIDDEN_SWITCHES = frozenset({"B200", "B300"})
"""Words of GPUs on boards whose NVSwitches, of the fourth generation, are not visible on the PCI bus
(docs.nvidia.com, "NVIDIA Fabric Manager User Guide")."""
DEFAULTS = ("installed", "auto")
"""Values of a host's `gpu_driver` and `gpu_switches` with which Longhaul looks for NVSwitches on the PCI bus."""

FOREIGN = re.compile(
    r"AMD|Instinct|Radeon|MI\d+[AX]?|V620|V710|Intel|Gaudi\d?|Trainium\d?|Inferentia\d?", re.IGNORECASE
)
"""Words in the names of other makers' accelerators."""

NVIDIA_ONLY = "Longhaul supports NVIDIA's GPUs alone (docs/limits.md)"


def check_gpu_models(environment: Environment) -> Iterator[Fault]:
    """Yield a fault for each model of another maker than NVIDIA."""
    for at, model in _models(environment):
        if any(FOREIGN.fullmatch(word) for word in re.split(r"[ -]", model)):
            yield Fault(at=at, wrong=f"{model!r} is not a GPU of NVIDIA's, and {NVIDIA_ONLY}", write="leave it out")


def gpu_model_cautions(environment: Environment) -> Iterator[Caution]:
    """Yield a caution for each model without a known word: a machine whose GPUs have another name gets no work."""
    for at, model in _models(environment):
        words = re.split(r"[ -]", model)
        if not any(word in KNOWN for word in words):
            close = [
                match for word in words for match in get_close_matches(word.upper(), sorted(KNOWN), n=1, cutoff=0.5)
            ]
            yield Caution(
                reason=FileReason.GPU_MODEL_UNKNOWN,
                about=".".join(map(str, at)),
                at=at,
                wrong=f"Longhaul knows no GPU {model!r}: machines get no work unless their GPUs' names contain it",
                write=f"{close[0]}, if that was meant" if close else "the words that `nvidia-smi -L` prints",
            )


def switch_cautions(environment: Environment) -> Iterator[Caution]:
    """Yield a caution for each host whose NVSwitches are not on its PCI bus (docs/gpu-drivers.md): without the fabric
    manager, which `auto` then leaves out, no program starts on its GPUs."""
    for index, host in enumerate(environment.hosts):
        words = set(re.split(r"[ -]", host.gpu_model))
        if host.gpus == BOARD and words & HIDDEN_SWITCHES and (host.gpu_driver, host.gpu_switches) == DEFAULTS:
            yield Caution(
                reason=FileReason.SWITCHES_HIDDEN,
                about=host.name,
                at=("hosts", index, "gpu_switches"),
                basis=(("hosts", index, "gpu_model"), ("hosts", index, "gpus")),
                wrong=f"the PCI bus does not show the NVSwitches of a board with {BOARD} {host.gpu_model}: without "
                "their fabric manager no program starts on the GPUs",
                write="present; or absent, if the host has no NVSwitches",
            )


def _models(environment: Environment) -> Iterator[tuple[Location, str]]:
    for name, machine in environment.machine_types.items():
        if machine.gpu_model:
            yield ("machine_types", name, "gpu_model"), machine.gpu_model
    for index, host in enumerate(environment.hosts):
        if host.gpu_model:
            yield ("hosts", index, "gpu_model"), host.gpu_model
