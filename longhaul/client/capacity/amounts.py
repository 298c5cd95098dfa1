"""Amounts of GPUs and cores in mappings of resources."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from contract.kubernetes.quantities import whole
from contract.resources import GPU_RESOURCE
from longhaul.client.capacity.state import Amount

CPU = "cpu"
MILLI = 1000


def amount(resources: Mapping[str, Any]) -> Amount:
    """Return GPUs and cores of a mapping of resources; an invalid quantity counts as zero."""
    return Amount(
        gpus=number(GPU_RESOURCE, resources.get(GPU_RESOURCE, 0)), cores=number(CPU, resources.get(CPU, 0)) / MILLI
    )


def number(name: str, text: Any) -> int:
    """Return a quantity in the unit of its resource; 0 when it is invalid."""
    try:
        return whole(name, text)
    except ValueError:
        return 0
