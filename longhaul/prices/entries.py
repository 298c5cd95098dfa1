"""The price file's shape: what a human, or `longhaul prices`, writes into it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from clouds.base.prices import Part
from clouds.base.section import Name, Section
from components.model.machine_types import CloudKind

FORMAT = 1
"""Version of the file's format."""


class Entry(Section):
    """One price."""

    amount: str = Field(
        pattern=r"^(0|[1-9][0-9]{0,8})(\.[0-9]{1,12})?$",
        examples=["0.384"],
        json_schema_extra={"patternErrorMessage": 'a number in quotes, such as "0.384"'},
    )
    """What one costs in one `unit`, as text: a decimal number in quotes, so that no digit is lost."""
    currency: str = Field(
        pattern=r"^[A-Z]{3}$",
        examples=["USD"],
        json_schema_extra={"patternErrorMessage": "a currency's three letters, such as USD"},
    )
    """The currency's three letters (ISO 4217)."""
    unit: Literal["hour", "month"]
    """What it is charged by."""
    source: str = Field(min_length=1, max_length=1000, examples=["contract"])
    """Where the price is from: an address, or words such as `contract`."""
    read: str = Field(
        pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$",
        examples=["2026-01-31"],
        json_schema_extra={"patternErrorMessage": "a day, such as 2026-01-31"},
    )
    """The day on which it was read, or was agreed on."""
    note: str = Field(default="", max_length=1000)
    """Anything else."""


class MachineEntry(Entry):
    """The price of a machine type in a region."""

    cloud: CloudKind
    """The cloud that offers the type."""
    region: str = Field(min_length=1, examples=["westeurope"])
    """The cloud's name of the region."""
    machine_type: str = Field(min_length=1, examples=["Standard_D8s_v5"])
    """The cloud's name of the type."""
    spot: bool = False
    """Whether this is the price of spare capacity."""


class PartEntry(Entry):
    """The price of a part of a network in a region."""

    cloud: CloudKind
    """The cloud."""
    region: str = Field(min_length=1, examples=["westeurope"])
    """The cloud's name of the region."""
    part: Part
    """The part."""


class HostEntry(Entry):
    """What each bare-metal host of a site costs."""

    site: Name = Field(examples=["colo"])
    """The on-prem site's name."""


class PriceFile(Section):
    """A price file."""

    format: Literal[1]
    """Version of this format."""
    machines: tuple[MachineEntry, ...] = ()
    """Prices of machine types."""
    parts: tuple[PartEntry, ...] = ()
    """Prices of parts of networks."""
    hosts: tuple[HostEntry, ...] = ()
    """Prices of bare-metal hosts; a site without one costs nothing."""
