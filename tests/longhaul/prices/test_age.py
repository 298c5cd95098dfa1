"""Prices that are missing or old."""

from __future__ import annotations

from datetime import timedelta

import pytest

from clouds.base.prices import HostKey, MachineKey, PartKey
from components.model import Environment
from components.model.prices.book import PriceBook
from longhaul.prices.age import check
from longhaul.prices.command import OLD_DAYS
from tests.longhaul.prices.conftest import NOW, price
from tests.longhaul.prices.sample_book import AMOUNTS, CPU, P5_SPOT, book

TODAY = NOW.date()


def test_a_whole_book_is_good(environment: Environment) -> None:
    found = check(environment, book(), today=TODAY, days=OLD_DAYS)
    assert found.healthy
    assert (found.missing, found.old, found.stands_in) == ({}, (), ())
    assert found.good == len(AMOUNTS) - 2  # the ordinary prices beside spot's are not needed


def test_what_is_missing_says_who_needs_it(environment: Environment) -> None:
    etcd = MachineKey(cloud="azure", region="westeurope", machine_type="Standard_L8s_v3")
    nat = PartKey(cloud="aws", region="us-east-1", part="nat-gateway")
    found = check(environment, book(etcd, nat), today=TODAY, days=OLD_DAYS)
    assert found.missing == {etcd: ("control plane",), nat: ("site use1",)}
    assert not found.healthy


@pytest.mark.parametrize(("days", "old"), [(0, False), (OLD_DAYS, False), (OLD_DAYS + 1, True), (-1, True)], ids=str)
def test_old_is_beyond_so_many_days_and_tomorrow_is_wrong(environment: Environment, days: int, old: bool) -> None:
    read = (TODAY - timedelta(days=days)).isoformat()
    found = check(environment, book().updated({CPU: price("1", read=read)}), today=TODAY, days=OLD_DAYS)
    assert [(one.key, one.days) for one in found.old] == ([(CPU, days)] if old else [])
    assert found.healthy is not old


def test_spot_may_stand_on_the_ordinary_price(environment: Environment) -> None:
    found = check(environment, book(P5_SPOT), today=TODAY, days=OLD_DAYS)
    assert found.healthy
    assert found.stands_in == (P5_SPOT,)
    assert P5_SPOT in check(environment, book(P5_SPOT, P5_SPOT.on_demand()), today=TODAY, days=OLD_DAYS).missing


def test_hosts_need_no_price_but_an_old_one_is_said(environment: Environment) -> None:
    host = HostKey(site="rack")
    assert host not in check(environment, PriceBook(), today=TODAY, days=OLD_DAYS).missing
    found = check(environment, book().updated({host: price("1", read="2020-01-01")}), today=TODAY, days=OLD_DAYS)
    assert [one.key for one in found.old] == [host]
