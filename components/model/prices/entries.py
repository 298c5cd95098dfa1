"""Shape of the price file, which a person or `longhaul prices` writes."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from clouds.base.prices import Part
from clouds.base.section import Name, Section
from components.model.pools.machine_types import CloudKind

FORMAT = 1
"""Version of the file's format."""


class PriceEntry(Section):
    """One price."""

    amount: str = Field(
        pattern=r"^(0|[1-9][0-9]{0,8})(\.[0-9]{1,12})?$",
        examples=["0.384"],
        json_schema_extra={"patternErrorMessage": 'a number in quotes, such as "0.384"'},
    )
    """Price of one machine, part or host for one `unit`, as text: a decimal number in quotes, so that no digit is
    lost."""
    currency: str = Field(
        pattern=r"^[A-Z]{3}$",
        examples=["USD"],
        json_schema_extra={"patternErrorMessage": "a currency's three letters, such as USD"},
    )
    """Three-letter code of the currency (ISO 4217)."""
    unit: Literal["hour", "month"]
    """Unit of time that the price is for."""
    source: str = Field(min_length=1, max_length=1000, examples=["contract"])
    """Source of the price: an address, or words such as `contract`."""
    read: str = Field(
        pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$",
        examples=["2026-01-31"],
        json_schema_extra={"patternErrorMessage": "a day, such as 2026-01-31"},
    )
    """Day on which the price was read or agreed on."""
    note: str = Field(default="", max_length=1000)
    """Any further remark."""


class MachineEntry(PriceEntry):
    """Price of a machine type in a region."""

    cloud: CloudKind
    """Cloud that offers the machine type."""
    region: str = Field(min_length=1, examples=["westeurope"])
    """Name of the region in the cloud."""
    machine_type: str = Field(min_length=1, examples=["Standard_D8s_v5"])
    """Name of the machine type in the cloud."""
    spot: bool = False
    """True when this is the price of spare capacity (spot)."""


class PartEntry(PriceEntry):
    """Price of a part of a network in a region."""

    cloud: CloudKind
    """Cloud that the network is in."""
    region: str = Field(min_length=1, examples=["westeurope"])
    """Name of the region in the cloud."""
    part: Part
    """Part of the network that has this price."""


class HostEntry(PriceEntry):
    """Price of each bare-metal host of a site."""

    site: Name = Field(examples=["colo"])
    """Name of the on-premises site."""


class PriceFile(Section):
    """A price file."""

    format: Literal[1]
    """Version of this format."""
    machines: tuple[MachineEntry, ...] = ()
    """Prices of machine types."""
    parts: tuple[PartEntry, ...] = ()
    """Prices of parts of networks."""
    hosts: tuple[HostEntry, ...] = ()
    """Prices of bare-metal hosts. No sum contains the hosts of a site without an entry."""
