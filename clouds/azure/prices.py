"""Azure's list prices, from the Retail Prices API. No account is needed.

learn.microsoft.com/rest/api/cost-management/retail-prices/azure-retail-prices, "Azure Retail Prices overview": the
address, the filters and their case (``serviceName eq 'Virtual Machines'``; ``priceType`` filters what an item calls
``type``), an answer's ``Items`` and ``NextPageLink``, an item's ``retailPrice`` (without discount), ``unitOfMeasure``,
``type``, ``tierMinimumUnits``, ``isPrimaryMeterRegion``, and that prices are in US dollars by default.

A machine type has several items that differ only in their descriptions: ``productName`` ends in `Windows`, or names
Cloud Services; ``meterName`` and ``skuName`` end in `Spot` or `Low Priority`. Product names follow no single pattern
(`Virtual Machines Dsv5 Series`, `NCads A100 v4 Series Linux`), so unwanted items are excluded. NAT gateways and load
balancers are listed under the region `Global`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any
from urllib.parse import quote, urlsplit

from clouds.azure.parts import GATEWAY_PARTS
from clouds.azure.site import AzureSite
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
    only,
)

URL = "https://prices.azure.com/api/retail/prices"
GLOBAL = "Global"


PAGES = 100
"""Largest number of pages, of up to 1,000 items each. No request here needs so many; the limit turns an endless chain
of links into an error."""

Item = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Meter:
    """Identification of a part of a network in the price list."""

    service: str
    product: str = ""
    """Name of the product; empty for any."""
    meter: str


def meters() -> dict[Part, Meter]:
    """Return the meter of each part that Azure charges for by the hour. A load balancer's price includes five rules;
    Longhaul's load balancer has two."""
    return {
        "load-balancer": Meter(service="Load Balancer", meter="Standard Included LB Rules and Outbound Rules"),
        "nat-gateway": Meter(service="NAT Gateway", meter="Standard Gateway"),
        "public-address": Meter(
            service="Virtual Network", product="IP Addresses", meter="Standard IPv4 Static Public IP"
        ),
        **{part: Meter(service="VPN Gateway", meter=size) for size, part in GATEWAY_PARTS.items()},
    }


class AzurePriceList(PriceList[AzureSite]):
    """Prices that Azure publishes."""

    def published(self, source: str, url: str) -> bool:
        """Return whether a price was read from the Retail Prices API, or from its mirror at ``url``."""
        return source.startswith(tuple(f"{place}?" for place in (URL, url) if place))

    def batches(self, keys: tuple[Key, ...], asking: PriceRequest[AzureSite]) -> list[PriceBatch]:
        """Return one batch for each of the Azure keys among ``keys``."""
        url = asking.url or URL
        return [
            PriceBatch(
                name=key.named("Azure"), keys=(key,), read=_reader(key, web=asking.web, today=asking.today, url=url)
            )
            for key in keys
            if isinstance(key, MachineKey | PartKey) and key.cloud == "azure"
        ]


def _reader(key: MachineKey | PartKey, *, web: Web, today: date, url: str) -> Callable[[Say], PriceAnswer]:
    def read(_: Say) -> PriceAnswer:
        address = f"{url}?currencyCode={quote(_text(CURRENCY))}&$filter={quote(_filter(key), safe='')}"
        items = [item for item in _items(address, web) if _is_list_price(item) and _fits(key, item)]
        return only(key, {item["retailPrice"] for item in _nearest(key, items)}, source=address, today=today)

    return read


def _filter(key: MachineKey | PartKey) -> str:
    """Return the filter for a key, in OData."""
    if isinstance(key, MachineKey):
        words = {"serviceName": "Virtual Machines", "armSkuName": key.machine_type, "armRegionName": key.region}
        return _all({**words, "priceType": "Consumption"})
    meter = meters()[key.part]
    region = f"(armRegionName eq {_text(key.region)} or armRegionName eq {_text(GLOBAL)})"
    return f"{_all({'serviceName': meter.service, 'meterName': meter.meter, 'priceType': 'Consumption'})} and {region}"


def _all(words: Mapping[str, str]) -> str:
    return " and ".join(f"{name} eq {_text(value)}" for name, value in words.items())


def _text(value: str) -> str:
    """Return a text in OData's quotes; a quote inside it is doubled."""
    return "'" + value.replace("'", "''") + "'"


def _items(address: str, web: Web) -> Iterator[Item]:
    """Yield every item of an answer, page by page. Raise ``WebError`` when the next page is on another server."""
    following: str | None = address
    for _ in range(PAGES):
        if following is None:
            return
        page = web.document(following)
        items, link = page.get("Items"), page.get("NextPageLink")
        if not isinstance(items, list) or not isinstance(link, str | None):
            raise WebError(f"{following}: the answer has no list `Items`; it is not the Retail Prices API's")
        yield from (item for item in items if isinstance(item, dict))
        following = link or None
        if following is not None and _place(following) != _place(address):
            raise WebError(f"{address}: its next page is at another address, {following}")
    raise WebError(f"{address}: more than {PAGES} pages")


def _place(address: str) -> tuple[str, str | None, int | None]:
    """Return scheme, host and port; links contain the port explicitly."""
    parts = urlsplit(address)
    return parts.scheme, parts.hostname, parts.port or {"http": 80, "https": 443}.get(parts.scheme)


def _is_list_price(item: Item) -> bool:
    """Return whether an item is the hourly list price, from the first hour on."""
    amount = item.get("retailPrice")
    return (
        item.get("type") == "Consumption"
        and item.get("unitOfMeasure") == "1 Hour"
        and item.get("currencyCode") == CURRENCY
        and not item.get("tierMinimumUnits")
        and isinstance(amount, int | Decimal)
        and amount > 0
    )


def _fits(key: MachineKey | PartKey, item: Item) -> bool:
    product, meter, sku = (str(item.get(name, "")) for name in ("productName", "meterName", "skuName"))
    if isinstance(key, PartKey):
        wanted = meters()[key.part]
        return meter == wanted.meter and (not wanted.product or product == wanted.product)
    if item.get("armSkuName") != key.machine_type or item.get("armRegionName") != key.region:
        return False
    if "Windows" in product or "Cloud Services" in product or "CloudServices" in product:
        return False
    kind = f"{meter}/{sku}"
    return "Low Priority" not in kind and ("Spot" in kind) == key.spot


def _nearest(key: MachineKey | PartKey, items: list[Item]) -> list[Item]:
    """Return the items of the region itself, or all items if there are none; of these return the primary meters, by
    which Azure bills, if there are any."""
    regional = [item for item in items if item.get("armRegionName") == key.region] or items
    return [item for item in regional if item.get("isPrimaryMeterRegion")] or regional
