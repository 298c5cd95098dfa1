"""GPUs that the environment promises for this machine."""

from __future__ import annotations

import json
from pathlib import Path

from contract.documents.node import GpuPromise
from gpu.findings import LookError


def read_declared_gpus(path: Path) -> GpuPromise:
    """Return the promised GPUs from a machine's description. Raise ``LookError`` if the description is missing, or if a
    value has the wrong form."""
    try:
        node = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise LookError(f"{path}: {error}: what GPUs this machine should have is not known") from None
    try:
        return GpuPromise.of_document(node)
    except ValueError as error:
        raise LookError(f"{path}: {error}") from None
