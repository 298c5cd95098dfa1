"""Prices: what has a price, the price itself, and the interface to a cloud's price list."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Generic, Literal

from clouds.base.currency import CURRENCY
from clouds.base.place import SiteT, SiteT_co

if TYPE_CHECKING:
    from clouds.base.price_requests import Web

HOURS_A_MONTH = 730
"""Number of hours in a month as the clouds count them: 365 days of 24 hours, divided by 12. AWS:
aws.amazon.com/calculator, "calculator-assumptions", "Time period". Azure: github.com/github/awesome-copilot,
azure-pricing, COST-ESTIMATOR.md."""

Part = Literal[
    "load-balancer",
    "nat-gateway",
    "public-address",
    "vpn-connection",
    "vpn-gateway",
    "vpn-gateway-VpnGw1AZ",
    "vpn-gateway-VpnGw3AZ",
    "vpn-gateway-VpnGw4AZ",
    "vpn-gateway-VpnGw5AZ",
]
"""Parts of a site's network that a cloud charges for by the hour. A VPN gateway without a size has the default size."""

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
    """True for spare capacity that the cloud may take back."""

    def named(self, title: str) -> str:
        """Return the key in words; ``title`` is the cloud's name."""
        return f"{self.machine_type}{' spot' if self.spot else ''}, {title} {self.region}"

    def on_demand(self) -> MachineKey:
        """Return the key of the same machine type, not as spare capacity."""
        return MachineKey(cloud=self.cloud, region=self.region, machine_type=self.machine_type)


@dataclass(frozen=True, kw_only=True, order=True)
class PartKey:
    """A part of a network in one region of a cloud."""

    cloud: str
    region: str
    part: Part

    def named(self, title: str) -> str:
        """Return the key in words; ``title`` is the cloud's name."""
        return f"{part_name(self.part)}, {title} {self.region}"


@dataclass(frozen=True, kw_only=True, order=True)
class HostKey:
    """A bare-metal host of one on-premises site. All hosts of a site have the same price."""

    site: str


Key = MachineKey | PartKey | HostKey


def part_name(part: Part) -> str:
    """Return a part's name in words, such as ``NAT gateway``."""
    name, _, size = part.partition("-Vpn")
    return f"{_PART_NAMES[name]} Vpn{size}" if size else _PART_NAMES[name]


@dataclass(frozen=True, kw_only=True)
class Price:
    """Price of one unit of something."""

    amount: Decimal
    """Amount in ``currency`` for one ``unit``."""
    currency: str
    """Currency in three letters (ISO 4217)."""
    unit: Literal["hour", "month"]
    source: str
    """Source of the price: an address, or words such as ``contract``."""
    read: date
    """Day on which the price was read."""
    note: str = ""

    @property
    def hourly(self) -> Decimal:
        """Return the price for one hour. A monthly price is divided by 730, to 28 digits."""
        return self.amount if self.unit == "hour" else self.amount / HOURS_A_MONTH

    @property
    def monthly(self) -> Decimal:
        """Return the price for a month of 730 hours."""
        return self.amount if self.unit == "month" else self.amount * HOURS_A_MONTH

    def __str__(self) -> str:
        return f"{plain(self.amount)} {self.currency} a{'n' if self.unit == 'hour' else ''} {self.unit}"


def plain(amount: Decimal) -> str:
    """Return an amount as the file writes it: no exponent, no trailing zeros."""
    return format(amount.normalize(), "f")


Say = Callable[[str], None]
"""Function that prints a line about progress, for people."""


@dataclass(frozen=True, kw_only=True)
class PriceRequest(Generic[SiteT_co]):
    """Settings for reading a cloud's prices."""

    now: datetime
    """Present time, in UTC."""
    web: Web
    url: str
    """Address of a mirror; empty for the cloud's own price list."""
    sites: tuple[SiteT_co, ...]
    """Sites of the environment in this cloud."""

    @property
    def today(self) -> date:
        """Return the day on which the prices are read."""
        return self.now.date()


@dataclass(frozen=True, kw_only=True)
class PriceAnswer:
    """Prices that a source has for the requested keys."""

    prices: Mapping[Key, Price] = field(default_factory=dict)
    missing: Mapping[Key, str] = field(default_factory=dict)
    """Reason why a key has no price, by key."""


@dataclass(frozen=True, kw_only=True)
class PriceBatch:
    """Prices that are read together. The price file is written after each batch."""

    name: str
    """Name of the batch in lines about progress."""
    keys: tuple[Key, ...]
    read: Callable[[Say], PriceAnswer]
    """Reads the prices; raises ``WebError`` when the interface cannot be read."""


def only(key: Key, amounts: set[Decimal], *, source: str, today: date) -> PriceAnswer:
    """Return the hourly price of ``key``, from ``amounts`` that fit its description. The key is missing from the prices
    unless there is exactly one amount: a choice among several would be a guess."""
    if len(amounts) == 1:
        (amount,) = amounts
        price = Price(amount=amount, currency=CURRENCY, unit="hour", source=source, read=today)
        return PriceAnswer(prices={key: price})
    if not amounts:
        return PriceAnswer(missing={key: f"no such price in {source}"})
    several = ", ".join(plain(amount) for amount in sorted(amounts))
    return PriceAnswer(missing={key: f"several prices that this could be ({several}) in {source}"})


def joined(answers: list[PriceAnswer]) -> PriceAnswer:
    """Merge several answers into one."""
    return PriceAnswer(
        prices={key: price for answer in answers for key, price in answer.prices.items()},
        missing={key: why for answer in answers for key, why in answer.missing.items()},
    )


class PriceList(Generic[SiteT]):
    """Prices that a cloud publishes. It publishes none by default, and the user writes them."""

    def published(self, source: str, url: str) -> bool:
        """Return whether a price with this ``source`` was read from the cloud, or from its mirror at ``url``. ``url``
        is empty when there is no mirror."""
        return False

    def batches(self, keys: tuple[Key, ...], asking: PriceRequest[SiteT]) -> list[PriceBatch]:
        """Return batches that read the prices of the cloud's own ``keys``. Leave out keys of other clouds, and keys for
        which the cloud publishes no price."""
        return []
