"""Settings that are immutable while an environment is in use, and settings that may change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from components.model import parse, plan
from components.model.policy.immutable import Changed, changes, instead, settings
from tests.support.project import REPOSITORY, hybrid

Change = Callable[[dict[str, Any]], object]


def held(change: Change = lambda _raw: None) -> dict[str, str]:
    """Return the immutable settings of the lab's environment with a second AWS site, after ``change``."""
    raw = hybrid("lab", supernet="10.64.0.0/12")
    raw["sites"]["usw2"] = {**raw["sites"]["use1"], "region": "us-west-2"}
    change(raw)
    environment = parse(raw, source=REPOSITORY / "stacks" / "Pulumi.lab.yaml", stack="lab")
    return settings(environment, plan(environment))


def found(change: Change, before: Change = lambda _raw: None) -> tuple[Changed, ...]:
    return changes(held(before), held(change))


def without_use1(raw: dict[str, Any]) -> None:
    del raw["sites"]["use1"], raw["pools"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda raw: raw.update(supernet="10.128.0.0/12"), ["supernet: 10.64.0.0/12 -> 10.128.0.0/12"]),
        (lambda raw: raw.update(domain="other.internal"), ["domain: lab.longhaul.internal -> other.internal"]),
        (lambda raw: raw.update(naming={"prefix": "corp"}), ["naming.prefix: none -> corp"]),
        (
            lambda raw: raw["sites"]["usw2"].update(range="10.70.0.0/16"),
            ["sites.usw2.range: 10.67.0.0/16 -> 10.70.0.0/16"],
        ),
        (lambda raw: raw["sites"]["weu"].update(region="northeurope"), ["sites.weu.region: westeurope -> northeurope"]),
        (
            lambda raw: raw["sites"]["usw2"].update(zones=["b", "a"]),
            [
                "sites.usw2.zones.a: 10.67.128.0/19 -> 10.67.160.0/19",
                "sites.usw2.zones.b: 10.67.160.0/19 -> 10.67.128.0/19",
            ],
        ),
        (
            lambda raw: raw["sites"]["usw2"].update(existing={"vpc": "vpc-01234567"}, range="10.67.0.0/16"),
            ["sites.usw2.existing.vpc: made by Longhaul -> vpc-01234567"],
        ),
    ],
)
def test_what_is_in_use_stays(change: Change, said: list[str]) -> None:
    assert [str(one) for one in found(change)] == said


def test_a_site_that_goes_moves_those_behind_it_unless_their_ranges_are_written() -> None:
    moved = found(without_use1)
    assert [one.key for one in moved] == ["sites.rack.range", "sites.usw2.range"]
    (written, elsewhere) = instead(moved)
    assert "`range: 10.66.0.0/16` into rack, `range: 10.67.0.0/16` into usw2" in written
    assert "then remove the old" in elsewhere

    def as_told(raw: dict[str, Any]) -> None:
        without_use1(raw)
        raw["sites"]["rack"]["range"], raw["sites"]["usw2"]["range"] = "10.66.0.0/16", "10.67.0.0/16"

    assert found(as_told) == ()


@pytest.mark.parametrize(
    "change",
    [
        lambda raw: raw["sites"].pop("usw2"),
        lambda raw: raw["sites"].update(euw1={**raw["sites"]["use1"], "region": "eu-west-1"}),
        lambda raw: raw["sites"]["usw2"].update(zones=["a", "b", "c"]),
        lambda raw: raw["sites"]["usw2"].update(account="123456789012"),
        lambda raw: raw["control_plane"]["etcd"].update(members=5),
        lambda raw: raw["sites"]["use1"].update(image="ami-00000000000000001"),
    ],
)
def test_what_comes_and_goes_may(change: Change) -> None:
    assert found(change) == ()


KEY = "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"
OTHER = "age1lvyvwawkr0mcnnnncaghunadrqkmuf9e6507x9y920xxpp866cnql7dp2z"


def backups(**more: Any) -> Change:
    return lambda raw: raw.update(backups={"recipients": [KEY], "hourly_days": 7, **more})


def without_backups(raw: dict[str, Any]) -> None:
    raw.pop("backups", None)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (backups(hourly_days=6), ["backups.hourly_days: 7 -> 6"]),
        (
            without_backups,
            ["backups.frequent_days: 1 -> none", "backups.hourly_days: 7 -> none", "backups.daily_days: 90 -> none"],
        ),
        (backups(hourly_days=8), []),
        (backups(hourly_days=10), []),
        (backups(every_minutes=10, recipients=[OTHER]), []),
    ],
    ids=["fewer", "none", "more", "more-digits", "recipients-and-interval"],
)
def test_backups_are_kept_for_what_was_promised(change: Change, said: list[str]) -> None:
    changed = found(change, backups())
    assert [str(one) for one in changed] == said
    told = instead(changed)
    assert [one.split(" keep")[0] for one in told] == (["Existing backups"] if said else [])


def test_backups_that_are_declared_later_are_no_change() -> None:
    assert found(backups(), without_backups) == ()


def test_what_only_follows_is_not_told() -> None:
    kind = {"kind": "onprem", "gateways": [{"name": "gw-9", "public_address": "198.51.100.99"}]}

    def other_kind(raw: dict[str, Any]) -> None:
        raw["sites"]["usw2"] = kind

    assert [one.key for one in found(other_kind)] == ["sites.usw2.kind"]


def test_another_account_once_one_is_written() -> None:
    def account(number: str) -> Change:
        return lambda raw: [raw["sites"][site].update(account=number) for site in ("use1", "usw2")]

    moved = found(account("2" * 12), account("1" * 12))
    assert [one.key for one in moved] == ["sites.use1.account", "sites.usw2.account"]


def test_each_sort_of_change_is_told_what_to_do_instead() -> None:
    keys = ("supernet", "domain", "sites.a.zones.b", "sites.a.region")
    told = instead([Changed(key=key, was="1", now="2") for key in keys])
    assert [one.split(":")[0].split(" ")[0] for one in told] == ["`supernet`", "Zones", "To"]
    assert told[0].startswith("`supernet` and `domain`: fixed for an environment's life")
