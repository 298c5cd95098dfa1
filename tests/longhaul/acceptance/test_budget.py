"""Limits of a run (hours, money), and every reason why it may not begin."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest

from components.model import Environment
from components.model.prices.book import PriceBook
from longhaul.acceptance.budget import AcceptanceBudget, expected, refusals
from longhaul.costs.known import KnownPrices
from tests.longhaul.acceptance.conftest import Load, raw_environment
from tests.longhaul.prices.conftest import price
from tests.longhaul.prices.sample_book import CPU, book

Known = Callable[[PriceBook], KnownPrices]


@pytest.fixture(name="known")
def _known(tmp_path: Path) -> Known:
    return lambda content: KnownPrices(book=content, path=tmp_path / "prices.yaml")


def budget(most_cost: str | None = None, prices: KnownPrices | None = None) -> AcceptanceBudget:
    cost = None if most_cost is None else Decimal(most_cost)
    return AcceptanceBudget(most_minutes=90, most_cost=cost, prices=prices)


def reasons(environment: Environment, given: AcceptanceBudget) -> str:
    return "; ".join(refusals(environment, given, expected(environment, given)))


def test_machines_are_all_of_them_and_one_more_for_the_pool(environment: Environment) -> None:
    found = expected(environment, budget())
    # 3 and 3 members, 2 API servers, the pool's one machine and a second, a host, a gateway.
    assert (found.machines, found.hours, found.cost) == (12, 2, None)
    assert str(found) == "12 machines, 2 h, cost not looked at"
    assert reasons(environment, budget()) == ""


def test_the_cost_is_of_begun_hours_with_one_machine_more(environment: Environment, known: Known) -> None:
    prices = known(book())
    hourly = dict(prices.cost(environment).minimum.hourly.amounts)["USD"]
    found = expected(environment, budget("100", prices))
    assert found.cost is not None
    assert dict(found.cost.amounts) == {"USD": (hourly + Decimal("0.25")) * 2}
    assert found.unpriced == ()


def test_the_cost_may_be_just_as_much_and_no_more(environment: Environment, known: Known) -> None:
    prices = known(book())
    found = expected(environment, budget("0", prices)).cost
    assert found is not None
    exact = dict(found.amounts)["USD"]
    assert reasons(environment, budget(str(exact), prices)) == ""
    assert "(--most-cost)" in reasons(environment, budget(str(exact - Decimal("0.01")), prices))


def test_what_has_no_price_or_cannot_be_summed_is_refused(environment: Environment, known: Known) -> None:
    assert "no price of pool cpu: machines (m6id.xlarge" in reasons(environment, budget("1000", known(book(CPU))))
    mixed = known(book().updated({CPU: price("1", currency="EUR")}))
    assert "several currencies" in reasons(environment, budget("1000", mixed))


def test_what_may_not_be_destroyed_is_not_made_and_all_reasons_are_said_at_once(load_raw: Load, known: Known) -> None:
    environment = load_raw({**raw_environment(), "destroyable": False})
    said = reasons(environment, budget("0", known(book())))
    assert "destroyable: true" in said
    assert "--most-cost" in said
