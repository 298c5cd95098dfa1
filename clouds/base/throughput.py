"""Throughputs as texts of the environment file, and as whole numbers of Mbit/s; the largest throughput of a link."""

from __future__ import annotations

from dataclasses import dataclass
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


@dataclass(frozen=True, kw_only=True)
class ThroughputLimit:
    """Largest throughput of something, with its source."""

    mbit: int
    """Mbit/s in each direction."""
    packets: int | None = None
    """Packets per second; None when nothing is published or declared."""
    of: str
    """Holder of the limit, such as `one tunnel of AWS`, and the source if that is not its publisher."""

    def __str__(self) -> str:
        return f"{text(self.mbit)} of {self.of}"


@dataclass(frozen=True, kw_only=True)
class GatewayChoice:
    """Another gateway that a site could have."""

    setting: str
    """Key and value of the site's section that choose it."""
    tunnel_mbit: int
    """Largest throughput of one tunnel, Mbit/s."""
    total_mbit: int
    """Largest throughput of all tunnels together, Mbit/s."""


def mbit(throughput: str) -> int:
    """Return a ``Throughput`` in Mbit/s."""
    number, unit = throughput.split(" ")
    return int(Decimal(number) * _UNITS[unit])


def text(mbit: int) -> str:
    """Return a number of Mbit/s as a ``Throughput``."""
    return f"{mbit} Mbit/s" if mbit < _UNITS["Gbit/s"] else f"{Decimal(mbit) / _UNITS['Gbit/s']:f} Gbit/s"
