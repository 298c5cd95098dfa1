"""Kubernetes' quantities, such as ``1500m`` and ``2Gi``, as whole numbers."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from functools import lru_cache

Resources = dict[str, int]
"""Amounts by Kubernetes' resource name: ``cpu`` in thousandths of a core, memory and storage in bytes, all others in
units. ``pods`` is the number of pods."""

_SUFFIXES = {
    "": Decimal(1),
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    **{unit: Decimal(1000) ** power for power, unit in enumerate("kMGTPE", 1)},
    **{f"{unit}i": Decimal(1024) ** power for power, unit in enumerate("KMGTPE", 1)},
}
"""Factors by suffix (k8s.io/apimachinery, ``pkg/api/resource``)."""
_QUANTITY = re.compile(r"([+-]?[0-9]+\.?[0-9]*|[+-]?\.[0-9]+)(?:([eE][+-]?[0-9]+)|([numkMGTPE]|[KMGTPE]i)?)")


@lru_cache(maxsize=4096)
def whole(name: str, text: str | int | float) -> int:
    """Return a quantity of a resource as a whole number, rounded up: thousandths of a core for ``cpu``, bytes or units
    for all other resources. Raise ``ValueError`` if the text is not a quantity."""
    match = _QUANTITY.fullmatch(str(text))
    if match is None:
        raise ValueError(f"{text!r} is no quantity of {name}")
    number = Decimal(match[1] + (match[2] or "")) * _SUFFIXES[match[3] or ""]
    return math.ceil(number * 1000 if name == "cpu" else number)
