"""Prices: what has one, what it is, and what those who read them of a cloud are told and answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Generic, Literal

from clouds.base.place import SiteT_co

if TYPE_CHECKING:
    from clouds.base.web import Web

HOURS_A_MONTH = 730
"""Hours that the clouds count in a month: 365 days of 24 hours by 12. AWS: aws.amazon.com/calculator,
"calculator-assumptions", "Time period". Azure: github.com/github/awesome-copilot, azure-pricing, COST-ESTIMATOR.md."""

Part = Literal["load-balancer", "nat-gateway", "public-address", "vpn-connection", "vpn-gateway"]
"""Parts of a site's network that a cloud charges for by the hour."""

_PART_NAMES: dict[str, str] = {
    "load-balancer": "load balancer",
    "nat-gateway": "NAT gateway",
    "public-address": "public address",
    "vpn-connection": "VPN connection",
    "vpn-gateway": "VPN gateway",
}


@dataclass(frozen=True, kw_only=True, order=True)
class MachineKey:
    """A machine type in one region of its cloud."""

    cloud: str
    region: str
    machine_type: str
    spot: bool = False
    """Whether it is spare capacity that the cloud may take back."""

    def named(self, title: str) -> str:
        """In words; ``title`` is the cloud's."""
        return f"{self.machine_type}{' spot' if self.spot else ''}, {title} {self.region}"

    def on_demand(self) -> MachineKey:
        """The same machine, not as spare capacity."""
        return MachineKey(cloud=self.cloud, region=self.region, machine_type=self.machine_type)


@dataclass(frozen=True, kw_only=True, order=True)
class PartKey:
    """A part of a network in one region of a cloud."""

    cloud: str
    region: str
    part: Part

    def named(self, title: str) -> str:
        """In words; ``title`` is the cloud's."""
        return f"{part_name(self.part)}, {title} {self.region}"


@dataclass(frozen=True, kw_only=True, order=True)
class HostKey:
    """A bare-metal host of one on-prem site; hosts of a site cost alike."""

    site: str


Key = MachineKey | PartKey | HostKey


def part_name(part: Part) -> str:
    """A part in words, such as ``NAT gateway``."""
    return _PART_NAMES[part]


@dataclass(frozen=True, kw_only=True)
class Price:
    """What one of something costs."""

    amount: Decimal
    """In ``currency``, for one ``unit``."""
    currency: str
    """Three letters (ISO 4217)."""
    unit: Literal["hour", "month"]
    source: str
    """An address, or words such as ``contract``."""
    read: date
    """When it was read."""
    note: str = ""

    @property
    def hourly(self) -> Decimal:
        """For an hour; of a monthly price its 730th part, to 28 digits."""
        return self.amount if self.unit == "hour" else self.amount / HOURS_A_MONTH

    @property
    def monthly(self) -> Decimal:
        """For a month of 730 hours."""
        return self.amount if self.unit == "month" else self.amount * HOURS_A_MONTH

    def __str__(self) -> str:
        return f"{plain(self.amount)} {self.currency} a{'n' if self.unit == 'hour' else ''} {self.unit}"


def plain(amount: Decimal) -> str:
    """An amount as the file has it: no exponent, no zeros at its end."""
    return format(amount.normalize(), "f")


Say = Callable[[str], None]
"""Takes a line about progress, for people."""


@dataclass(frozen=True, kw_only=True)
class Asking(Generic[SiteT_co]):
    """How a cloud's prices are asked for."""

    now: datetime
    """In UTC."""
    web: Web
    url: str
    """Address of a mirror; empty for the cloud's own."""
    sites: tuple[SiteT_co, ...]
    """The environment's in this cloud."""

    @property
    def today(self) -> date:
        """The day on which prices are read."""
        return self.now.date()


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a source has for what it was asked."""

    prices: Mapping[Key, Price] = field(default_factory=dict)
    missing: Mapping[Key, str] = field(default_factory=dict)
    """Why there is no price."""


@dataclass(frozen=True, kw_only=True)
class Batch:
    """Prices that are read together: after each, the file is written."""

    name: str
    """For lines about progress."""
    keys: tuple[Key, ...]
    read: Callable[[Say], Answer]
    """Reads them; ``WebError`` when the interface cannot be read."""


def only(key: Key, amounts: set[Decimal], *, source: str, today: date) -> Answer:
    """The hourly price in US dollars that a source has for ``key``, of the amounts that fit its description: there has
    to be one. A price that is chosen among several would be a guess."""
    if len(amounts) == 1:
        (amount,) = amounts
        price = Price(amount=amount, currency="USD", unit="hour", source=source, read=today)
        return Answer(prices={key: price})
    if not amounts:
        return Answer(missing={key: f"no such price in {source}"})
    several = ", ".join(plain(amount) for amount in sorted(amounts))
    return Answer(missing={key: f"several prices that this could be ({several}) in {source}"})


def joined(answers: list[Answer]) -> Answer:
    """All of them in one."""
    return Answer(
        prices={key: price for answer in answers for key, price in answer.prices.items()},
        missing={key: why for answer in answers for key, why in answer.missing.items()},
    )
