"""AWS's list prices, from the files of the Price List Bulk API. No account is needed.

docs.aws.amazon.com/awsaccountbilling/latest/aboutv2: "Service Region index file for AWS services" (``regions``, by
region code, with ``currentVersionUrl``, relative to the same host), "Getting price list files manually" (the
addresses), "Reading the service price list file" (as CSV: five rows about the file, a sixth with the columns' names,
then product and price in one row each). A region's file of Amazon EC2 has hundreds of megabytes. It is read line by
line, and only lines that contain a wanted name are parsed.

The query API (``pricing:GetProducts``) would answer such questions one by one, and needs credentials.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal, InvalidOperation
from itertools import groupby
from urllib.parse import urljoin

from clouds.aws import spot
from clouds.aws.site import AwsSite
from clouds.base.currency import CURRENCY
from clouds.base.price_requests import Web, WebError
from clouds.base.prices import (
    Key,
    MachineKey,
    Part,
    PartKey,
    PriceAnswer,
    PriceBatch,
    PriceList,
    PriceRequest,
    Say,
    joined,
    only,
)

URL = "https://pricing.us-east-1.amazonaws.com"
EC2, VPC = "AmazonEC2", "AmazonVPC"

PREAMBLE = 5
"""Number of rows about the file itself."""

COLUMNS = ("TermType", "Unit", "PricePerUnit", "Currency", "Region Code", "usageType")
"""Columns that a file must have. If one is missing, AWS has changed the format."""

Row = Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class PriceListUsage:
    """Identification of a part of a network in the price list."""

    offer: str
    usage_type: str
    """Usage type without the region's prefix, which some regions have (`USE1-`, `EU-`)."""


def usages() -> dict[Part, PriceListUsage]:
    """Return the usage type of each part that AWS charges for by the hour."""
    return {
        "nat-gateway": PriceListUsage(offer=EC2, usage_type="NatGateway-Hours"),
        "public-address": PriceListUsage(offer=VPC, usage_type="PublicIPv4:InUseAddress"),
        "vpn-connection": PriceListUsage(offer=VPC, usage_type="VPN-Usage-Hours:ipsec.1"),
    }


class AwsPriceList(PriceList[AwsSite]):
    """Prices that AWS publishes."""

    def published(self, source: str, url: str) -> bool:
        """Return whether a price was read from AWS's price files, from their mirror at ``url``, or from EC2."""
        return source == spot.SOURCE or source.startswith(tuple(f"{place}/" for place in (URL, url) if place))

    def batches(self, keys: tuple[Key, ...], asking: PriceRequest[AwsSite]) -> list[PriceBatch]:
        """Return the batches to read: quick requests first, large files last."""
        return [
            *spot.batches(keys, asking),
            *files(keys, web=asking.web, today=asking.today, url=asking.url or URL),
        ]


def files(keys: tuple[Key, ...], *, web: Web, today: date, url: str = URL) -> list[PriceBatch]:
    """Return one batch for each offer and region of the AWS keys among ``keys``. Spot prices are in no file."""
    ours = [
        key
        for key in keys
        if (isinstance(key, MachineKey) and key.cloud == "aws" and not key.spot)
        or (isinstance(key, PartKey) and key.cloud == "aws" and key.part in usages())
    ]
    ours.sort(key=_file)
    return [
        PriceBatch(
            name=f"AWS {region}, {offer}",
            keys=tuple(group),
            read=_reader(tuple(group), offer=offer, region=region, web=web, today=today, url=url),
        )
        for (region, offer), group in ((place, list(members)) for place, members in groupby(ours, key=_file))
    ]


def _file(key: MachineKey | PartKey) -> tuple[str, str]:
    """Return the region and the offer of a key."""
    return key.region, EC2 if isinstance(key, MachineKey) else usages()[key.part].offer


def _reader(
    keys: tuple[MachineKey | PartKey, ...], *, offer: str, region: str, web: Web, today: date, url: str
) -> Callable[[Say], PriceAnswer]:
    def read(say: Say) -> PriceAnswer:
        address = _address(offer, region, web=web, url=url)
        amounts = web.scan(address, lambda lines: _amounts(lines, keys, address), say=say)
        return joined([only(key, amounts[key], source=address, today=today) for key in keys])

    return read


def _address(offer: str, region: str, *, web: Web, url: str) -> str:
    """Return the address of the region's present file of an offer. The index names the JSON file; the CSV file is next
    to it."""
    index = f"{url}/offers/v1.0/aws/{offer}/current/region_index.json"
    regions = web.document(index).get("regions")
    entry = regions.get(region) if isinstance(regions, dict) else None
    path = entry.get("currentVersionUrl") if isinstance(entry, dict) else None
    if not isinstance(path, str) or not path.endswith(".json") or not path.startswith("/"):
        raise WebError(f"{index} has no price file for {region}")
    return urljoin(url, path.removesuffix(".json") + ".csv")


def _amounts(
    lines: Iterator[str], keys: tuple[MachineKey | PartKey, ...], address: str
) -> dict[MachineKey | PartKey, set[Decimal]]:
    """Return the possible prices of each key, from the rows that fit it."""
    amounts: dict[MachineKey | PartKey, set[Decimal]] = {key: set() for key in keys}
    for row in _rows(lines, tuple({_needle(key) for key in keys}), address):
        amount = _amount(row)
        if amount is not None:
            for key in keys:
                if _fits(key, row):
                    amounts[key].add(amount)
    return amounts


def _needle(key: MachineKey | PartKey) -> str:
    """Return a text that every line about ``key`` contains."""
    return key.machine_type if isinstance(key, MachineKey) else usages()[key.part].usage_type


def _rows(lines: Iterator[str], needles: tuple[str, ...], address: str) -> Iterator[Row]:
    for _ in range(PREAMBLE):
        next(lines, None)
    names = [_plain(name) for name in next(csv.reader([next(lines, "")]), [])]
    absent = [name for name in COLUMNS if _plain(name) not in names]
    if absent:
        raise WebError(f"{address}: its sixth row names no column {', '.join(absent)}; AWS changed the file's form")
    for values in csv.reader(line for line in lines if any(needle in line for needle in needles)):
        yield dict(zip(names, values, strict=False))


def _plain(name: str) -> str:
    """Return a column's name in one form for all its spellings: ``usageType``, ``Usage Type``."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _amount(row: Row) -> Decimal | None:
    """Return the on-demand price of an hour, from its first tier; None for any other row."""
    if (
        row.get("termtype") != "OnDemand"
        or row.get("currency") != CURRENCY
        or row.get("unit", "").lower() not in ("hrs", "hours")
        or row.get("startingrange", "0") not in ("", "0")
        or row.get("locationtype", "AWS Region") not in ("", "AWS Region")
    ):
        return None
    try:
        amount = Decimal(row.get("priceperunit", ""))
    except InvalidOperation:
        return None
    return amount.normalize() if amount.is_finite() and amount > 0 else None


def _fits(key: MachineKey | PartKey, row: Row) -> bool:
    """Return whether a row is about ``key``. A machine's row must be for Linux on shared hardware, running, without
    preinstalled software, on demand. Other rows are for unused reserved capacity, for capacity blocks and for other
    systems."""
    if row.get("regioncode") != key.region:
        return False
    if isinstance(key, PartKey):
        usage = re.escape(usages()[key.part].usage_type)
        return re.fullmatch(rf"([A-Z0-9]+-)?{usage}", row.get("usagetype", "")) is not None
    wanted = {
        "instancetype": key.machine_type,
        "operatingsystem": "Linux",
        "tenancy": "Shared",
        "capacitystatus": "Used",
        "preinstalledsw": "NA",
    }
    return all(row.get(name) == value for name, value in wanted.items()) and row.get("marketoption", "OnDemand") in (
        "",
        "OnDemand",
    )
