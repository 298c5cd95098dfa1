"""Azure's Retail Prices API: the requests, and the item that has the price."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

from clouds.azure import prices as azure
from clouds.azure.site import AzureSite
from clouds.base.price_requests import WebError
from clouds.base.prices import Key, MachineKey, Part, PartKey, PriceAnswer, PriceRequest
from longhaul.prices.gather import PriceSources
from tests.longhaul.prices.price_server import RETAIL, PriceServer, sample_items

L8S = MachineKey(cloud="azure", region="westeurope", machine_type="Standard_L8s_v3")


def asking(sources: PriceSources) -> PriceRequest[AzureSite]:
    return PriceRequest(now=sources.now, web=sources.web, url=sources.urls["azure"], sites=())


def ask(key: Key, sources: PriceSources) -> PriceAnswer:
    (batch,) = azure.AzurePriceList().batches((key,), asking(sources))
    return batch.read(lambda _: None)


def amount(key: Key, sources: PriceSources) -> Decimal:
    answer = ask(key, sources)
    assert answer.missing == {}
    return answer.prices[key].amount


def machine(machine_type: str, *, spot: bool = False) -> MachineKey:
    return MachineKey(cloud="azure", region="westeurope", machine_type=machine_type, spot=spot)


def answered(server: PriceServer, *changes: dict[str, Any]) -> None:
    """Make Azure answer with these items, each the ordinary price of L8s with some fields changed."""
    (ordinary,) = [
        item
        for item in sample_items()
        if item["retailPrice"] == 0.75 and item["productName"] == "Virtual Machines Lsv3 Series"
    ]
    page = {"Items": [{**ordinary, **change} for change in changes], "NextPageLink": None}
    server.replaced[RETAIL] = json.dumps(page).encode()


def test_of_all_that_a_type_is_sold_as_linux_by_the_hour_is_the_price(sources: PriceSources) -> None:
    """Excluded are Windows, spot, low priority, Cloud Services, reservations, development and other regions."""
    assert amount(L8S, sources) == Decimal("0.75")


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        (machine("Standard_L8s_v3", spot=True), "0.15"),
        (machine("Standard_ND96isr_H100_v5"), "110.125"),
        (machine("Standard_ND96isr_H100_v5", spot=True), "22.5"),
        (machine("Standard_D8s_v5"), "0.4605"),
    ],
)
def test_machines(key: MachineKey, expected: str, sources: PriceSources) -> None:
    assert amount(key, sources) == Decimal(expected)


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ("load-balancer", "0.03"),
        ("nat-gateway", "0.06"),
        ("public-address", "0.005"),
        ("vpn-gateway", "0.6"),
    ],
)
def test_parts_of_a_network_some_of_which_are_listed_for_all_regions(
    part: Part, expected: str, sources: PriceSources
) -> None:
    assert amount(PartKey(cloud="azure", region="westeurope", part=part), sources) == Decimal(expected)


def test_the_price_says_where_it_is_from(server: PriceServer, sources: PriceSources) -> None:
    price = ask(L8S, sources).prices[L8S]
    assert price.source.startswith(
        f"{server.azure_url}?currencyCode=%27USD%27&$filter=serviceName%20eq%20%27Virtual%20Machines%27"
    )
    assert (price.read, price.currency, price.unit) == (sources.now.date(), "USD", "hour")
    assert server.asked[0] == (
        f"{RETAIL}?currencyCode='USD'&$filter=serviceName eq 'Virtual Machines' and armSkuName eq 'Standard_L8s_v3' "
        "and armRegionName eq 'westeurope' and priceType eq 'Consumption'"
    )


def test_every_page_is_read(server: PriceServer, sources: PriceSources) -> None:
    server.page = 1
    assert amount(L8S, sources) == Decimal("0.75")
    assert len(server.asked) == len([item for item in sample_items() if item["armSkuName"] == "Standard_L8s_v3"]) - 3
    assert server.asked[1].endswith("&$skip=1")


def test_a_next_page_elsewhere_is_not_asked_for(server: PriceServer, sources: PriceSources) -> None:
    server.next_page = f"http://localhost:1{RETAIL}"
    with pytest.raises(WebError, match="its next page is at another address, http://localhost:1/"):
        ask(L8S, sources)
    assert len(server.asked) == 1


def test_a_next_page_that_spells_the_port_out_is_no_other_place() -> None:
    assert azure._place("https://prices.azure.com:443/a") == azure._place("https://prices.azure.com/b")
    assert azure._place("http://prices.azure.com:443/a") != azure._place("https://prices.azure.com/b")


def test_pages_without_end_are_an_error(
    server: PriceServer, sources: PriceSources, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(azure, "PAGES", 3)
    page = {"Items": [], "NextPageLink": f"{server.azure_url}?again"}
    server.replaced[RETAIL] = json.dumps(page).encode()
    with pytest.raises(WebError, match="more than 3 pages"):
        ask(L8S, sources)


@pytest.mark.parametrize("body", [b"{}", b'{"Items": {}}', b"[]", b"<html>", b'{"Items": [], "NextPageLink": 7}'])
def test_another_kind_of_answer_is_an_error(body: bytes, server: PriceServer, sources: PriceSources) -> None:
    server.replaced[RETAIL] = body
    with pytest.raises(WebError, match="answer"):
        ask(L8S, sources)


def test_an_unknown_type_is_missing(sources: PriceSources) -> None:
    key = machine("Standard_D0s_v9")
    assert ask(key, sources).missing[key].startswith("no such price in http://127.0.0.1")


def test_quotes_in_a_name_stay_in_the_name(server: PriceServer, sources: PriceSources) -> None:
    key = machine("x' or serviceName eq 'y")
    assert key in ask(key, sources).missing
    assert "armSkuName eq 'x'' or serviceName eq ''y'" in server.asked[0]


def test_of_several_that_it_could_be_none_is_chosen(server: PriceServer, sources: PriceSources) -> None:
    answered(server, {}, {"retailPrice": 0.8})
    assert "several prices that this could be (0.75, 0.8)" in ask(L8S, sources).missing[L8S]


def test_the_same_price_twice_is_one(server: PriceServer, sources: PriceSources) -> None:
    answered(server, {}, {"meterId": "another"})
    assert amount(L8S, sources) == Decimal("0.75")


def test_the_meter_that_azure_bills_by_counts(server: PriceServer, sources: PriceSources) -> None:
    answered(server, {}, {"retailPrice": 0.8, "isPrimaryMeterRegion": False})
    assert amount(L8S, sources) == Decimal("0.75")
    answered(server, {"retailPrice": 0.8, "isPrimaryMeterRegion": False})
    assert amount(L8S, sources) == Decimal("0.8")


@pytest.mark.parametrize(
    "change",
    [
        {"retailPrice": 0},
        {"retailPrice": None},
        {"retailPrice": "0.75"},
        {"currencyCode": "EUR"},
        {"unitOfMeasure": "1 Month"},
        {"type": "Reservation"},
        {"tierMinimumUnits": 100.0},
    ],
)
def test_what_is_no_list_price_is_left_out(change: dict[str, Any], server: PriceServer, sources: PriceSources) -> None:
    answered(server, change)
    assert L8S in ask(L8S, sources).missing


def test_no_digit_is_lost(server: PriceServer, sources: PriceSources) -> None:
    server.replaced[RETAIL] = (
        json.dumps({"Items": [{**sample_items()[0], "retailPrice": 7}], "NextPageLink": None})
        .replace('"retailPrice": 7', '"retailPrice": 0.1000000000000000055')
        .encode()
    )
    assert amount(L8S, sources) == Decimal("0.1000000000000000055")


def test_only_azures_keys_are_its(sources: PriceSources) -> None:
    aws = MachineKey(cloud="aws", region="us-east-1", machine_type="m6id.xlarge")
    batches = azure.AzurePriceList().batches((aws, L8S), asking(sources))
    assert [batch.keys for batch in batches] == [(L8S,)]
