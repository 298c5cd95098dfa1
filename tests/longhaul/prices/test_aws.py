"""AWS's price list files: the row that has the price, and the reading of a large file."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from decimal import Decimal

import pytest

from clouds.aws import prices as aws
from clouds.base.price_requests import WebError
from clouds.base.prices import Key, MachineKey, Part, PartKey, PriceAnswer
from longhaul.prices.gather import PriceSources
from tests.longhaul.prices.price_server import SAMPLES, PriceServer

M6ID = MachineKey(cloud="aws", region="us-east-1", machine_type="m6id.xlarge")
P5 = MachineKey(cloud="aws", region="us-east-1", machine_type="p5.48xlarge")
INDEX = "/offers/v1.0/aws/AmazonEC2/current/region_index.json"
EC2_FILE = "/offers/v1.0/aws/AmazonEC2/20260115000000/us-east-1/index.csv"


def part(name: Part, region: str = "us-east-1") -> PartKey:
    return PartKey(cloud="aws", region=region, part=name)


def ask(keys: tuple[Key, ...], sources: PriceSources, said: list[str] | None = None) -> PriceAnswer:
    """Return the answer for keys that are in one file."""
    (batch,) = aws.files(keys, web=sources.web, today=sources.now.date(), url=sources.urls["aws"])
    return batch.read((said if said is not None else []).append)


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        (M6ID, "0.25"),
        (P5, "100.5"),
        (part("nat-gateway"), "0.05"),
        (part("vpn-connection"), "0.04"),
        (part("public-address"), "0.006"),
    ],
)
def test_of_all_rows_linux_on_shared_hardware_as_it_is_used_is_the_price(
    key: MachineKey | PartKey, expected: str, sources: PriceSources
) -> None:
    """Excluded are rows for reserved, dedicated and unused hardware, other systems, blocks of capacity and other zones;
    for parts, any other usage."""
    answer = ask((key,), sources)
    assert answer.missing == {}
    assert answer.prices[key].amount == Decimal(expected)


def test_one_file_is_read_once_for_all_that_is_in_it(server: PriceServer, sources: PriceSources) -> None:
    keys = (M6ID, part("public-address"), P5, part("nat-gateway"), part("vpn-connection"))
    batches = aws.files(keys, web=sources.web, today=sources.now.date(), url=sources.urls["aws"])
    assert [(batch.name, len(batch.keys)) for batch in batches] == [
        ("AWS us-east-1, AmazonEC2", 3),
        ("AWS us-east-1, AmazonVPC", 2),
    ]
    assert len(batches[0].read(lambda _: None).prices) == 3
    assert server.asked == [INDEX, EC2_FILE]


def test_the_price_says_where_it_is_from(server: PriceServer, sources: PriceSources) -> None:
    price = ask((M6ID,), sources).prices[M6ID]
    assert price.source == f"{server.address}{EC2_FILE}"
    assert price.read == sources.now.date()


def test_spot_and_azure_are_not_asked_for(sources: PriceSources) -> None:
    keys = (
        MachineKey(cloud="aws", region="us-east-1", machine_type="m6id.xlarge", spot=True),
        MachineKey(cloud="azure", region="westeurope", machine_type="Standard_L8s_v3"),
        part("vpn-gateway"),
    )
    assert aws.files(keys, web=sources.web, today=sources.now.date()) == []


def test_an_unknown_type_is_missing(sources: PriceSources) -> None:
    key = MachineKey(cloud="aws", region="us-east-1", machine_type="m6id.x")
    assert "no such price in" in ask((key,), sources).missing[key]


def test_a_region_that_aws_does_not_list_is_an_error(sources: PriceSources) -> None:
    with pytest.raises(WebError, match=r"region_index\.json has no price file for mars-north-1"):
        ask((part("nat-gateway", "mars-north-1"),), sources)


@pytest.mark.parametrize("path", ["https://elsewhere.example/index.json", "/offers/index.zip", ""])
def test_a_file_elsewhere_is_not_asked_for(path: str, server: PriceServer, sources: PriceSources) -> None:
    server.replaced[INDEX] = f'{{"regions": {{"us-east-1": {{"currentVersionUrl": "{path}"}}}}}}'.encode()
    with pytest.raises(WebError, match="has no price file for us-east-1"):
        ask((M6ID,), sources)
    assert server.asked == [INDEX]


def test_several_prices_that_it_could_be_are_none(server: PriceServer, sources: PriceSources) -> None:
    text = (SAMPLES / "ec2-us-east-1.csv").read_text(encoding="utf-8")
    (row,) = [line for line in text.splitlines() if '"0.2500000000"' in line]
    server.replaced[EC2_FILE] = (text + row.replace("0.2500000000", "0.2600000000") + "\n").encode()
    assert "several prices that this could be (0.25, 0.26)" in ask((M6ID,), sources).missing[M6ID]


@pytest.mark.parametrize(
    ("old", "new", "absent"),
    [('"usageType"', '"Usage"', "usageType"), ('"PricePerUnit"', '"Price"', "PricePerUnit")],
)
def test_a_file_of_another_form_is_an_error(
    old: str, new: str, absent: str, server: PriceServer, sources: PriceSources
) -> None:
    text = (SAMPLES / "ec2-us-east-1.csv").read_text(encoding="utf-8")
    server.replaced[EC2_FILE] = text.replace(old, new, 1).encode()
    with pytest.raises(WebError, match=f"names no column {absent}; AWS changed the file's form"):
        ask((M6ID,), sources)


@pytest.mark.parametrize("body", [b"", b"<html>\n" * 9, (b'"FormatVersion","v1.0"\n') * 3])
def test_what_is_no_price_list_is_an_error(body: bytes, server: PriceServer, sources: PriceSources) -> None:
    server.replaced[EC2_FILE] = body
    with pytest.raises(WebError, match="sixth row"):
        ask((M6ID,), sources)


def test_column_names_may_be_spelt_otherwise(server: PriceServer, sources: PriceSources) -> None:
    """The files of some offers have such names: `Usage Type` for `usageType`."""
    text = (SAMPLES / "ec2-us-east-1.csv").read_text(encoding="utf-8")
    server.replaced[EC2_FILE] = text.replace('"usageType"', '"Usage Type"').encode()
    assert ask((part("nat-gateway"),), sources).missing == {}


def test_a_file_that_breaks_off_is_read_again(server: PriceServer, sources: PriceSources) -> None:
    server.broken_off = 2
    said: list[str] = []
    assert ask((M6ID,), sources, said).prices[M6ID].amount == Decimal("0.25")
    assert said == [f"{server.address}{EC2_FILE}: interrupted, starting again from its beginning"] * 2


def test_a_file_that_always_breaks_off_is_an_error(server: PriceServer, sources: PriceSources) -> None:
    server.broken_off = 3
    with pytest.raises(WebError, match="broke off 3 times: the connection was closed before the end"):
        ask((M6ID,), sources)


def test_memory_does_not_grow_with_the_file() -> None:
    """None of a file of 40 MB stays in memory: its rows are read one at a time."""
    text = (SAMPLES / "ec2-us-east-1.csv").read_text(encoding="utf-8").splitlines()
    rows = 100_000

    def lines() -> Iterator[str]:
        yield from text
        for number in range(rows):
            yield text[7].replace("m6id.xlarge", f"m7x.{number}xlarge")
        yield from text[6:]

    size = rows * len(text[7])
    tracemalloc.start()
    try:
        found = aws._amounts(lines(), (M6ID,), "x")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found == {M6ID: {Decimal("0.25")}}
    assert size > 30_000_000
    assert peak < 1_000_000
