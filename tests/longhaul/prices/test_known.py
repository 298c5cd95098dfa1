"""A price book as `show` and `plan` ask it."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from components.model import Environment
from longhaul.prices.book import BookError, Price, PriceBook
from longhaul.prices.cost import price_of
from longhaul.prices.keys import HostKey, Key
from longhaul.prices.known import KnownPrices
from longhaul.prices.write import save
from tests.longhaul.prices.conftest import price
from tests.longhaul.prices.sample_book import CPU, book


def known(path: Path, content: PriceBook) -> KnownPrices:
    save(content, path)
    found = KnownPrices.of_file(path)
    assert found is not None
    return found


def test_what_a_machine_costs_an_hour(tmp_path: Path) -> None:
    prices = known(tmp_path / "prices.yaml", book())
    assert prices(cloud="aws", region="us-east-1", machine_type="m6id.xlarge", spot=False) == Decimal("0.25")
    assert prices(cloud="aws", region="us-east-1", machine_type="m6id.xlarge", spot=True) is None
    assert prices.currency == "USD"
    assert prices.source == f"{tmp_path}/prices.yaml, prices of 2026-02-01"


def test_what_an_environment_costs_a_month(environment: Environment, tmp_path: Path) -> None:
    prices, cost = known(tmp_path / "prices.yaml", book(CPU)), price_of(environment, book(CPU))
    sums = prices.sums(environment)
    assert sums.least == cost.minimum.monthly.in_currency("USD") > 0
    assert sums.most == cost.maximum.monthly.in_currency("USD") > sums.least
    assert sums.unpriced == ("pool cpu: machines (m6id.xlarge, AWS us-east-1)",)


def test_another_currency_is_not_known_rather_than_converted(environment: Environment, tmp_path: Path) -> None:
    euros: dict[Key, Price] = {
        HostKey(site="rack"): price("900", currency="EUR", unit="month"),
        CPU: price("1", currency="EUR"),
    }
    prices = known(tmp_path / "prices.yaml", book().updated(euros))
    assert prices.currency == "USD"
    assert prices(cloud="aws", region="us-east-1", machine_type="m6id.xlarge", spot=False) is None
    assert prices.sums(environment).unpriced == (
        "pool cpu: machines (m6id.xlarge, AWS us-east-1), which is in EUR",
        "racks rack: hosts, which is in EUR",
    )


def test_days_are_a_span(tmp_path: Path) -> None:
    prices = known(tmp_path / "prices.yaml", book().updated({CPU: price("1", read="2025-12-31")}))
    assert prices.source.endswith("prices of 2025-12-31 to 2026-02-01")


def test_no_file_and_no_price_are_no_prices_and_a_wrong_file_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "prices.yaml"
    assert KnownPrices.of_file(path) is None
    save(PriceBook(), path)
    assert KnownPrices.of_file(path) is None
    path.write_text("format: 7\n", encoding="utf-8")
    with pytest.raises(BookError):
        KnownPrices.of_file(path)
