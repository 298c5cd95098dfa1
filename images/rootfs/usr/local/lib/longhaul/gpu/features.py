"""Labels that describe a node's GPUs. NVIDIA's GPU feature discovery uses the same names and values, so pods that
select nodes by these labels also find nodes without the discovery."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

from contract.labels import CUDA_LABELS, GPU_LABEL
from contract.resources import GPU_RESOURCE

DISCOVERY = "nvidia.com/gfd.timestamp"
"""Label that the discovery sets on nodes where it runs. On these nodes the discovery sets all labels, because it knows
more (MIG, sharing)."""

LONGEST = 63
"""Longest value of a label in characters (k8s.io/apimachinery, ``validation.LabelValueMaxLength``)."""

_FAMILIES = {5: "maxwell", 6: "pascal", 9: "hopper", 10: "blackwell", 12: "blackwell"}


def labels(report: Mapping[str, Any], *, there: Mapping[str, str]) -> dict[str, str]:
    """Return the labels for a preflight report. ``there`` has the node's present labels. If the GPUs are of several
    models, the labels describe the most frequent model. The labels follow github.com/NVIDIA/k8s-device-plugin v0.18.0,
    ``internal/lm/nvml.go`` and ``resource.go``."""
    gpu_labels = {GPU_LABEL: "true"}
    models = Counter(gpu["name"] for gpu in report.get("gpus", ()) if gpu["name"])
    if DISCOVERY in there or not models:
        return gpu_labels
    name, count = min(models.items(), key=lambda item: (-item[1], item[0]))
    first = next(gpu for gpu in report["gpus"] if gpu["name"] == name)
    gpu_labels |= {f"{GPU_RESOURCE}.product": _value(name), f"{GPU_RESOURCE}.count": str(count)}
    if first.get("memory_mib"):
        gpu_labels[f"{GPU_RESOURCE}.memory"] = str(first["memory_mib"])
    if first.get("compute"):
        major, minor = first["compute"]
        gpu_labels |= {f"{GPU_RESOURCE}.family": family(major, minor)}
        gpu_labels |= {f"{GPU_RESOURCE}.compute.major": str(major), f"{GPU_RESOURCE}.compute.minor": str(minor)}
    return (
        gpu_labels | _version("driver-version", report.get("driver", "")) | _version("runtime-version", report["cuda"])
    )


def family(major: int, minor: int) -> str:
    """Return the name of the architecture of a compute capability."""
    if major == 7:
        return "volta" if minor < 5 else "turing"
    if major == 8:
        return "ampere" if minor < 9 else "ada-lovelace"
    return _FAMILIES.get(major, "undefined")


def _version(what: str, version: str) -> dict[str, str]:
    """Return the labels of a version: the whole version and its parts. Only a driver's version has a third part. The
    label of a missing third part is empty."""
    parts = version.split(".")
    if len(parts) not in (2, 3):
        return {}
    names = ("major", "minor", "revision") if what == "driver-version" else ("major", "minor")
    values = [*parts, ""]
    return {f"{CUDA_LABELS}.{what}.full": version} | {
        f"{CUDA_LABELS}.{what}.{name}": values[index] for index, name in enumerate(names)
    }


def _value(name: str) -> str:
    """Return the value of a label: the words of a name joined by hyphens, without characters that a label's value
    cannot have."""
    return "-".join(re.sub(r"[^A-Za-z0-9_. -]", "", name).split())[:LONGEST].strip("-_.")
