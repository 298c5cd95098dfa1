"""Costs of an environment, and the difference that a change makes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from clouds.base.prices import HostKey, PartKey
from components.model import Environment
from components.model.prices.book import PriceBook
from longhaul.costs.cost import EnvironmentCost, difference, price_of
from longhaul.costs.money import Money, total
from longhaul.costs.priced_needs import price_keys
from longhaul.costs.text import cost_json, cost_text
from tests.longhaul.prices.conftest import hybrid_with_pools, price
from tests.longhaul.prices.sample_book import AMOUNTS, CPU, H100_SPOT, P5_SPOT, book
from tests.support.golden import Golden


def usd(amount: str) -> Money:
    return Money.of("USD", Decimal(amount))


@pytest.fixture(name="changed")
def _changed(load_raw: Callable[[dict[str, Any]], Environment]) -> Callable[..., Environment]:
    """Function that returns the environment with other values in its pools, or without a pool."""

    def change(**pools: dict[str, Any] | None) -> Environment:
        raw = hybrid_with_pools()
        for name, values in pools.items():
            if values is None:
                del raw["pools"][name.replace("_", "-")]
            else:
                raw["pools"].setdefault(name.replace("_", "-"), {}).update(values)
        return load_raw(raw)

    return change


def test_the_sums_by_hand(environment: Environment) -> None:
    assert set(AMOUNTS) == set(price_keys(environment))
    cost = price_of(environment, book())
    control = 6 * Decimal("0.75") + 2 * Decimal("0.4605") + Decimal("0.03")
    weu = Decimal("0.06") + 2 * Decimal("0.005") + Decimal("0.6")
    use1 = 2 * Decimal("0.05") + 6 * Decimal("0.006") + 2 * Decimal("0.04")
    least = control + weu + use1 + Decimal("0.25") + Decimal("22.5")
    most = control + weu + use1 + 10 * Decimal("0.25") + 4 * Decimal("31.2") + 2 * Decimal("22.5")
    assert cost.minimum.hourly == Money.of("USD", least)
    assert cost.maximum.hourly == Money.of("USD", most)
    assert cost.minimum.monthly == Money.of("USD", least * 730)
    assert cost.maximum.monthly == Money.of("USD", most * 730)
    assert (cost.unpriced, cost.assumed) == ((), ())


def test_what_has_no_price_is_named_and_left_out(environment: Environment) -> None:
    whole, part = price_of(environment, book()), price_of(environment, book(CPU))
    assert part.unpriced == ("pool cpu: machines (m6id.xlarge, AWS us-east-1)",)
    assert whole.minimum.hourly - part.minimum.hourly == usd("0.25")
    assert whole.maximum.hourly - part.maximum.hourly == usd("2.5")


def test_an_empty_book_prices_nothing(environment: Environment) -> None:
    cost = price_of(environment, PriceBook())
    assert len(cost.unpriced) == 13
    assert not cost.minimum
    assert not cost.maximum


def test_spot_without_a_price_counts_at_the_ordinary_one(environment: Environment) -> None:
    cost = price_of(environment, book(P5_SPOT))
    assert cost.unpriced == ()
    assert cost.assumed == (
        "pool gpu-spot: machines (p5.48xlarge spot, AWS us-east-1): the ordinary price, since there is no spot price",
    )
    assert cost.maximum.hourly - price_of(environment, book()).maximum.hourly == usd("277.2")


def test_spot_without_either_price_is_unpriced(environment: Environment) -> None:
    cost = price_of(environment, book(P5_SPOT, P5_SPOT.on_demand()))
    assert cost.unpriced == ("pool gpu-spot: machines (p5.48xlarge spot, AWS us-east-1)",)
    assert cost.assumed == ()


def test_fallbacks_cost_what_their_pool_costs(environment: Environment) -> None:
    (line,) = price_of(environment, book()).groups()["pool gpu-spot"]
    assert [(name, str(other)) for name, other in line.fallbacks] == [("h100", "22.5 USD an hour")]
    (line,) = price_of(environment, book(H100_SPOT, H100_SPOT.on_demand())).groups()["pool gpu-spot"]
    assert line.fallbacks == (("h100", None),)


def test_hosts_cost_nothing_unless_the_file_says_so(environment: Environment) -> None:
    without = price_of(environment, book())
    assert [line.unpriced for line in without.groups()["racks rack"]] == [False]
    monthly = price_of(environment, book().updated({HostKey(site="rack"): price("900", currency="EUR", unit="month")}))
    assert monthly.minimum.monthly == without.minimum.monthly + Money.of("EUR", Decimal(1800))
    assert monthly.minimum.hourly == without.minimum.hourly + Money.of("EUR", 2 * (Decimal(900) / 730))


def test_no_float_comes_near_a_price(environment: Environment) -> None:
    """Ten times a tenth is one, which is not true in binary."""
    cost = price_of(environment, PriceBook({CPU: price("0.1")}))
    assert cost.maximum.hourly == usd("1")


def test_a_larger_pool(environment: Environment, changed: Callable[..., Environment]) -> None:
    before = price_of(environment, book())
    found = difference(before, price_of(changed(cpu={"min": 2, "max": 20}), book()))
    assert [(line.group, line.what) for line in found.lines] == [("pool cpu", "machines")]
    assert found.minimum.hourly == usd("0.25")
    assert found.maximum.hourly == usd("2.5")
    assert found.maximum.monthly.signed() == "+1,825.00 USD"
    assert found.unknown == ()


def test_what_is_gone_and_what_is_new(environment: Environment, changed: Callable[..., Environment]) -> None:
    before = price_of(environment, book())
    pool = {"site": "use1", "machine_type": "m6id.xlarge", "min": 4, "max": 4}
    found = difference(before, price_of(changed(h100=None, more=pool, **{"gpu-spot": {"fallbacks": []}}), book()))
    assert [(line.group, line.before is None, line.after is None) for line in found.lines] == [
        ("pool more", True, False),
        ("pool h100", False, True),
    ]
    assert found.minimum.hourly == usd("-21.5")
    assert found.minimum.monthly.signed() == "-15,695.00 USD"


def test_a_change_to_what_has_no_price_is_unknown(
    environment: Environment, changed: Callable[..., Environment]
) -> None:
    before = price_of(environment, book())
    found = difference(before, price_of(changed(cpu={"machine_type": "m7i.xlarge"}), book()))
    assert found.unknown == ("pool cpu: machines (m7i.xlarge, AWS us-east-1)",)
    assert not found.minimum
    assert not found.maximum


def test_no_change_is_no_difference(environment: Environment) -> None:
    cost = price_of(environment, book())
    assert difference(cost, cost).lines == ()
    assert not difference(cost, cost).maximum


def test_programs_get_amounts_without_an_exponent(environment: Environment) -> None:
    lines = cost_json(price_of(environment, PriceBook({CPU: price("1E+2")})))["lines"]
    assert [line["price"]["amount"] for line in lines if line["price"]] == ["100"]


def test_currencies_are_not_added_to_one_another() -> None:
    mixed = total([usd("1.005"), Money.of("EUR", Decimal(1000)), usd("2")])
    assert str(mixed) == "1,000.00 EUR and 3.00 USD"
    assert str(mixed - Money.of("EUR", Decimal(1000))) == "3.00 USD"
    assert (str(Money()), Money().signed(), bool(usd("0"))) == ("0", "0", False)
    assert mixed.as_strings() == {"EUR": "1000.00", "USD": "3.00"}
    assert mixed.as_strings(Decimal("0.0001")) == {"EUR": "1000.0000", "USD": "3.0050"}


def shown(cost: EnvironmentCost) -> str:
    return cost_text(cost) + "\n\n" + json.dumps(cost_json(cost), indent=1) + "\n"


def test_what_people_and_programs_see(environment: Environment, golden: Golden) -> None:
    prices = book(P5_SPOT, PartKey(cloud="aws", region="us-east-1", part="vpn-connection"))
    found = shown(
        price_of(environment, prices.updated({HostKey(site="rack"): price("900", currency="EUR", unit="month")}))
    )
    golden("cost.txt", found)
    text = cost_text(price_of(environment, prices))
    assert max(map(len, text.splitlines())) <= 100
    assert re.search(r"^ *racks rack +no price +no price$", text, re.MULTILINE), "hosts without a price are not free"
