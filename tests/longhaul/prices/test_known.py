"""A price book in the form that `show` and `plan` use."""

from __future__ import annotations

from pathlib import Path

import pytest

from components.model import Environment
from components.model.prices.book import BookError, PriceBook
from longhaul.costs.cost import price_of
from longhaul.costs.known import KnownPrices
from longhaul.prices.write import save
from tests.longhaul.prices.conftest import price
from tests.longhaul.prices.sample_book import CPU, book


def known(path: Path, content: PriceBook) -> KnownPrices:
    save(content, path)
    found = KnownPrices.of_file(path)
    assert found is not None
    return found


def test_what_an_environment_costs(environment: Environment, tmp_path: Path) -> None:
    prices = known(tmp_path / "prices.yaml", book(CPU))
    assert prices.cost(environment) == price_of(environment, book(CPU))
    assert prices.source == "prices.yaml, prices of 2026-02-01"


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
