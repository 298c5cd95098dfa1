"""Prices of everything in an environment are read into the user's file, also repeatedly."""

from __future__ import annotations

import socket
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from clouds.aws.spot import NO_CREDENTIALS
from clouds.base.prices import HostKey, Key, MachineKey, PartKey, Price
from components.model import Environment
from components.model.prices.book import BookError, PriceBook, name_of
from longhaul.costs.priced_needs import price_keys
from longhaul.prices.gather import Gathered, PriceSources, gather
from longhaul.prices.text import gathered_text
from longhaul.prices.write import save
from tests.longhaul.prices.conftest import price
from tests.longhaul.prices.price_server import PriceServer

CPU = MachineKey(cloud="aws", region="us-east-1", machine_type="m6id.xlarge")
D8S = MachineKey(cloud="azure", region="westeurope", machine_type="Standard_D8s_v5")
P5_SPOT = MachineKey(cloud="aws", region="us-east-1", machine_type="p5.48xlarge", spot=True)
ELSEWHERE = MachineKey(cloud="aws", region="eu-west-1", machine_type="g5.xlarge")


@pytest.fixture(name="file")
def _file(tmp_path: Path) -> Path:
    return tmp_path / "prices.yaml"


def read(environment: Environment, file: Path, sources: PriceSources, *, again: bool = False) -> Gathered:
    return gather(environment, to=file, sources=sources, again=again, say=lambda _: None)


def test_everything_is_read_but_what_wants_an_account(
    environment: Environment, file: Path, sources: PriceSources
) -> None:
    result = read(environment, file, sources)
    assert result.failed == {}
    assert result.missing == {P5_SPOT: NO_CREDENTIALS}
    assert {*result.read, P5_SPOT} == set(price_keys(environment))
    book = PriceBook.load(file)
    assert book == result.book
    assert {name_of(key): str(book.prices[key].amount) for key in result.read} == {
        "Standard_L8s_v3, Azure westeurope": "0.75",
        "Standard_D8s_v5, Azure westeurope": "0.4605",
        "Standard_ND96isr_H100_v5, Azure westeurope": "110.125",
        "Standard_ND96isr_H100_v5 spot, Azure westeurope": "22.5",
        "load balancer, Azure westeurope": "0.03",
        "NAT gateway, Azure westeurope": "0.06",
        "public address, Azure westeurope": "0.005",
        "VPN gateway, Azure westeurope": "0.6",
        "m6id.xlarge, AWS us-east-1": "0.25",
        "p5.48xlarge, AWS us-east-1": "100.5",
        "NAT gateway, AWS us-east-1": "0.05",
        "public address, AWS us-east-1": "0.006",
        "VPN connection, AWS us-east-1": "0.04",
    }


def test_the_same_answers_are_the_same_file(environment: Environment, file: Path, sources: PriceSources) -> None:
    read(environment, file, sources)
    first = file.read_bytes()
    read(environment, file, sources, again=True)
    assert file.read_bytes() == first


def test_what_was_read_today_is_not_asked_for_again(
    environment: Environment, file: Path, sources: PriceSources, server: PriceServer
) -> None:
    first = read(environment, file, sources)
    server.asked.clear()
    second = read(environment, file, sources)
    assert server.asked == []
    assert set(second.kept) == set(first.read)
    tomorrow = read(environment, file, replace(sources, now=sources.now + timedelta(days=1)))
    assert set(tomorrow.read) == set(first.read)
    assert PriceBook.load(file).prices[CPU].read == (sources.now + timedelta(days=1)).date()


def test_the_users_own_prices_stay(
    environment: Environment, file: Path, sources: PriceSources, server: PriceServer
) -> None:
    own: dict[Key, Price] = {
        CPU: price("0.11", read="2025-01-01"),
        HostKey(site="rack"): price("900", currency="EUR", unit="month"),
    }
    save(PriceBook({**own, ELSEWHERE: price("1")}), file)
    result = read(environment, file, sources, again=True)
    assert result.kept == [CPU]
    book = PriceBook.load(file)
    assert book.prices[CPU].amount == Decimal("0.11")
    assert {HostKey(site="rack"), ELSEWHERE} <= set(book.prices)
    assert not [target for target in server.asked if "m6id" in target]


def test_what_cannot_be_read_is_said_and_the_rest_is_read(
    environment: Environment, file: Path, sources: PriceSources, server: PriceServer
) -> None:
    server.refused = {"Standard_D8s_v5", "AmazonVPC"}
    result = read(environment, file, sources)
    assert set(result.failed) == {"Standard_D8s_v5, Azure westeurope", "AWS us-east-1, AmazonVPC"}
    assert all("answered 404" in why for why in result.failed.values())
    assert CPU in PriceBook.load(file).prices
    server.refused = set()
    server.asked.clear()
    second = read(environment, file, sources)
    assert second.failed == {}
    assert set(second.read) == {
        D8S,
        PartKey(cloud="aws", region="us-east-1", part="public-address"),
        PartKey(cloud="aws", region="us-east-1", part="vpn-connection"),
    }
    assert not [target for target in server.asked if "AmazonEC2" in target]


def test_a_host_without_a_connection_is_told_of_once(
    environment: Environment, file: Path, sources: PriceSources, server: PriceServer
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        nobody = f"127.0.0.1:{free.getsockname()[1]}"
    result = read(environment, file, replace(sources, urls={**sources.urls, "azure": f"http://{nobody}/prices"}))
    first, *rest = (why for name, why in result.failed.items() if "Azure" in name)
    assert first.endswith(": no connection")
    assert {*rest} == {f"not asked: {nobody} accepted no connection before"}
    assert CPU in result.read, "the other cloud's prices are read"
    assert gathered_text(result, to=file).count("not asked") == 1


def test_an_interruption_keeps_what_was_read(environment: Environment, file: Path, sources: PriceSources) -> None:
    said: list[str] = []

    def interrupt(line: str) -> None:
        said.append(line)
        if len(said) == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        gather(environment, to=file, sources=sources, again=False, say=interrupt)
    assert len(PriceBook.load(file).prices) == 3
    assert [entry.name for entry in file.parent.iterdir() if entry.is_file()] == [file.name]
    assert len(read(environment, file, sources).kept) == 3


def test_progress_counts_the_steps(environment: Environment, file: Path, sources: PriceSources) -> None:
    said: list[str] = []
    gather(environment, to=file, sources=sources, again=False, say=said.append)
    assert said[0] == "1/11 Standard_L8s_v3, Azure westeurope"
    assert said[-3:] == ["9/11 AWS us-east-1, spot", "10/11 AWS us-east-1, AmazonEC2", "11/11 AWS us-east-1, AmazonVPC"]


def test_a_price_that_was_there_stays_when_its_source_has_none_any_more(
    environment: Environment, file: Path, sources: PriceSources, server: PriceServer
) -> None:
    read(environment, file, sources)
    server.replaced["/api/retail/prices"] = b'{"Items": [], "NextPageLink": null}'
    result = read(environment, file, sources, again=True)
    assert D8S in result.missing
    assert PriceBook.load(file).prices[D8S].amount == Decimal("0.4605")


def test_a_file_that_is_wrong_is_left_alone(
    environment: Environment, file: Path, sources: PriceSources, server: PriceServer
) -> None:
    file.write_text("format: 1\nmachines: yes\n", encoding="utf-8")
    with pytest.raises(BookError, match="machines: 'yes' is not a list"):
        read(environment, file, sources)
    assert file.read_text(encoding="utf-8") == "format: 1\nmachines: yes\n"
    assert server.asked == []
