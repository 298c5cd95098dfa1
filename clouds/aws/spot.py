"""AWS's spot prices. They are in no public file, so EC2 is asked, with the user's credentials if there are any.

docs.aws.amazon.com/AWSEC2/latest/APIReference, DescribeSpotPriceHistory: for a period it returns changes of prices, and
"also returns the last price change before the start time, which is the effective price as of the start time". With the
present time as both start and end, it returns the price in effect in each zone. It needs the permission
``ec2:DescribeSpotPriceHistory``. Azure's spot prices are in its price list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import partial
from typing import Any

from clouds.aws.session import AwsError, aws_errors, shared
from clouds.aws.site import AwsSite
from clouds.base.currency import CURRENCY
from clouds.base.prices import Key, MachineKey, Price, PriceAnswer, PriceBatch, PriceRequest, Say

SOURCE = "ec2:DescribeSpotPriceHistory"

SYSTEMS = ("Linux/UNIX", "Linux/UNIX (Amazon VPC)")
"""EC2's names for plain Linux. The account's age decides which of the two applies."""

NO_CREDENTIALS = f"AWS shows spot prices ({SOURCE}) only to accounts, and there are no AWS credentials here"

Client = Callable[[str], Any]
"""Returns EC2's client for a region."""


@dataclass(frozen=True, kw_only=True)
class Spot:
    """Settings for reading spot prices."""

    client: Client | None
    """None when there are no credentials."""
    zones: Mapping[str, tuple[str, ...]]
    """Zones in use by region, such as ``us-east-1a``."""
    now: datetime
    """Present time, with its time zone."""


def client() -> Client | None:
    """Return a function that makes EC2's client for a region with the user's own credentials; None when there are
    none."""
    session = shared()
    return partial(session.client, "ec2") if session.signed_in() else None


def batches(keys: tuple[Key, ...], asking: PriceRequest[AwsSite]) -> list[PriceBatch]:
    """Return one batch for each region with AWS spot keys among ``keys``."""
    ours = [key for key in keys if isinstance(key, MachineKey) and key.cloud == "aws" and key.spot]
    # The search for credentials may take seconds, and only spot prices need them.
    spot = Spot(client=client() if ours else None, zones=_zones(asking.sites), now=asking.now)
    return [
        PriceBatch(
            name=f"AWS {region}, spot",
            keys=tuple(key for key in ours if key.region == region),
            read=_reader(tuple(key for key in ours if key.region == region), region, spot),
        )
        for region in dict.fromkeys(key.region for key in ours)
    ]


def _zones(sites: Iterable[AwsSite]) -> Mapping[str, tuple[str, ...]]:
    names: dict[str, dict[str, None]] = {}
    for site in sites:
        names.setdefault(site.region, {}).update(dict.fromkeys(f"{site.region}{zone}" for zone in site.zones))
    return {region: tuple(sorted(zones)) for region, zones in names.items()}


def _reader(keys: tuple[MachineKey, ...], region: str, spot: Spot) -> Callable[[Say], PriceAnswer]:
    def read(_: Say) -> PriceAnswer:
        if spot.client is None:
            return PriceAnswer(missing=dict.fromkeys(keys, NO_CREDENTIALS))
        try:
            with aws_errors(f"{SOURCE} in {region} failed"):
                history = _history(spot.client(region), keys, spot.now)
        except AwsError as error:
            return PriceAnswer(missing=dict.fromkeys(keys, str(error)))
        zones = spot.zones.get(region, ())
        prices: dict[Key, Price] = {}
        missing: dict[Key, str] = {}
        for key in keys:
            amounts = [price for (kind, zone), price in history.items() if kind == key.machine_type and zone in zones]
            if amounts:
                prices[key] = _highest(amounts, region, zones, spot.now)
            else:
                missing[key] = f"{SOURCE} has no price of it in {', '.join(zones)}"
        return PriceAnswer(prices=prices, missing=missing)

    return read


def _history(ec2: Any, keys: tuple[MachineKey, ...], now: datetime) -> dict[tuple[str, str], Decimal]:
    """Return the price in effect by type and zone: the latest, if there are several."""
    latest: dict[tuple[str, str], tuple[datetime, Decimal]] = {}
    pages = ec2.get_paginator("describe_spot_price_history").paginate(
        InstanceTypes=[key.machine_type for key in keys],
        ProductDescriptions=list(SYSTEMS),
        StartTime=now,
        EndTime=now,
    )
    for page in pages:
        for entry in page["SpotPriceHistory"]:
            place = (entry["InstanceType"], entry["AvailabilityZone"])
            known = latest.get(place)
            if known is None or entry["Timestamp"] > known[0]:
                latest[place] = (entry["Timestamp"], Decimal(entry["SpotPrice"]))
    return {place: price for place, (_, price) in latest.items()}


def _highest(amounts: list[Decimal], region: str, zones: tuple[str, ...], now: datetime) -> Price:
    """Return the highest price, because a pool's machines may be in any zone of its site."""
    letters = ", ".join(zone.removeprefix(region) for zone in zones)
    return Price(
        amount=max(amounts),
        currency=CURRENCY,
        unit="hour",
        source=SOURCE,
        read=now.date(),
        note=f"the dearest of the zones {letters}, at {now:%Y-%m-%d %H:%M} UTC",
    )
