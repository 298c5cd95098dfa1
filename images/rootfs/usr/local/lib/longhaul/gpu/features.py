"""What a node's GPUs are, as labels: names and values as NVIDIA's GPU feature discovery gives them, so that pods that
choose by them find their nodes whether that runs or not."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

from gpu.names import PRESENT

GPU = "nvidia.com/gpu"
CUDA = "nvidia.com/cuda"

DISCOVERY = "nvidia.com/gfd.timestamp"
"""Label that the discovery leaves where it runs: it knows more (MIG, sharing), and the labels are its."""

LONGEST = 63
"""Characters of a label's value (k8s.io/apimachinery, ``validation.LabelValueMaxLength``)."""

_FAMILIES = {5: "maxwell", 6: "pascal", 9: "hopper", 10: "blackwell", 12: "blackwell"}


def labels(report: Mapping[str, Any], *, there: Mapping[str, str]) -> dict[str, str]:
    """Labels by what the preflight reported. ``there``: the node's labels. Of several models, the one that most GPUs
    are of. From github.com/NVIDIA/k8s-device-plugin v0.18.0, ``internal/lm/nvml.go`` and ``resource.go``."""
    found = {PRESENT: "true"}
    models = Counter(gpu["name"] for gpu in report.get("gpus", ()) if gpu["name"])
    if DISCOVERY in there or not models:
        return found
    name, count = min(models.items(), key=lambda item: (-item[1], item[0]))
    first = next(gpu for gpu in report["gpus"] if gpu["name"] == name)
    found |= {f"{GPU}.product": _value(name), f"{GPU}.count": str(count)}
    if first.get("memory_mib"):
        found[f"{GPU}.memory"] = str(first["memory_mib"])
    if first.get("compute"):
        major, minor = first["compute"]
        found |= {f"{GPU}.family": family(major, minor)}
        found |= {f"{GPU}.compute.major": str(major), f"{GPU}.compute.minor": str(minor)}
    return found | _version("driver-version", report.get("driver", "")) | _version("runtime-version", report["cuda"])


def family(major: int, minor: int) -> str:
    """Name of the architecture of a compute capability."""
    if major == 7:
        return "volta" if minor < 5 else "turing"
    if major == 8:
        return "ampere" if minor < 9 else "ada-lovelace"
    return _FAMILIES.get(major, "undefined")


def _version(what: str, version: str) -> dict[str, str]:
    """A version, whole and in parts. Only a driver's has three, and then says so of a third that is missing, too."""
    parts = version.split(".")
    if len(parts) not in (2, 3):
        return {}
    names = ("major", "minor", "revision") if what == "driver-version" else ("major", "minor")
    values = [*parts, ""]
    return {f"{CUDA}.{what}.full": version} | {
        f"{CUDA}.{what}.{name}": values[index] for index, name in enumerate(names)
    }


def _value(name: str) -> str:
    """Words with hyphens between; what a label's value cannot have is left out."""
    return "-".join(re.sub(r"[^A-Za-z0-9_. -]", "", name).split())[:LONGEST].strip("-_.")
