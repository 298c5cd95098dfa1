"""Throughputs as texts of the environment file, and as whole numbers of Mbit/s."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated

from pydantic import Field

_UNITS = {"Mbit/s": 1, "Gbit/s": 1000}

Throughput = Annotated[
    str,
    Field(
        pattern=r"^([1-9][0-9]{0,5} Mbit/s|(0\.[0-9]{0,2}[1-9]|[1-9][0-9]{0,3}(\.[0-9]{1,3})?) Gbit/s)$",
        examples=["3 Gbit/s"],
        json_schema_extra={"patternErrorMessage": "a number and `Mbit/s` or `Gbit/s`, such as `2.5 Gbit/s`"},
    ),
]
"""Bits per second in each direction."""


def mbit(throughput: str) -> int:
    """Return a ``Throughput`` in Mbit/s."""
    number, unit = throughput.split(" ")
    return int(Decimal(number) * _UNITS[unit])


def text(mbit: int) -> str:
    """Return a number of Mbit/s as a ``Throughput``."""
    return f"{mbit} Mbit/s" if mbit < _UNITS["Gbit/s"] else f"{Decimal(mbit) / _UNITS['Gbit/s']:f} Gbit/s"
