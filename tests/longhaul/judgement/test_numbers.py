"""Capacity and cost, before and after."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from components.model import Environment
from longhaul.judgement.capacity import CapacityRow, total
from longhaul.judgement.text import capacity_table
from tests.longhaul.judgement.steps import GROUP, SET, TEMPLATE, VM, judged, lab, machine, step


@dataclass(frozen=True)
class Dollars:
    """An amount."""

    amount: Decimal

    def __sub__(self, other: Dollars) -> Dollars:
        return Dollars(self.amount - other.amount)

    def __str__(self) -> str:
        return f"{self.amount:,} USD"

    def signed(self) -> str:
        return f"{self.amount:+,} USD"


@dataclass(frozen=True)
class PerMonth:
    """Cost of something."""

    monthly: Dollars


@dataclass(frozen=True)
class Pools:
    """Costs of an environment's pools by a few prices; nothing else costs anything."""

    environment: Environment
    prices: Mapping[str, int]

    def _sum(self, key: str) -> PerMonth:
        pools = self.environment.pools.values()
        return PerMonth(
            Dollars(Decimal(sum(getattr(pool, key) * self.prices.get(pool.machine_type, 0) for pool in pools)))
        )

    @property
    def minimum(self) -> PerMonth:
        return self._sum("min")

    @property
    def maximum(self) -> PerMonth:
        return self._sum("max")

    @property
    def unpriced(self) -> tuple[str, ...]:
        return tuple(name for name, pool in self.environment.pools.items() if pool.machine_type not in self.prices)

    @property
    def assumed(self) -> tuple[str, ...]:
        return ()


def priced(environment: Environment) -> Pools:
    return Pools(environment, {"m6id.xlarge": 100, "p5.48xlarge": 70_000})


def partly_priced(environment: Environment) -> Pools:
    return Pools(environment, {"m6id.xlarge": 100})


def with_gpus(raw: dict[str, Any]) -> None:
    raw["pools"]["gpu"] = {"site": "use1", "machine_type": "p5.48xlarge", "min": 1, "max": 4}


def rows(*steps: dict[str, Any], **more: Any) -> dict[str, CapacityRow]:
    return {row.name: row for row in judged(*steps, **more).rows}


def changed(op: str, name: str, old: dict[str, Any], new: dict[str, Any] | None = None) -> dict[str, Any]:
    return step(op, GROUP, name, old, new or old)


def test_a_pools_size_before_is_in_its_group() -> None:
    row = rows(changed("update", "lab-cpu-group", {"minSize": 2, "maxSize": 5}, {"minSize": 1, "maxSize": 10}))["cpu"]
    assert row.before is not None
    assert row.after is not None
    assert (str(row.before.nodes), str(row.after.nodes)) == ("2..5", "1..10")
    assert (str(row.before.cores), str(row.after.cores)) == ("8..20", "4..40")


def test_a_machine_type_before_is_in_the_template() -> None:
    old, new = ({"instanceType": kind} for kind in ("g5.12xlarge", "m6id.xlarge"))
    row = rows(step("update", TEMPLATE, "lab-cpu-template", old, new))["cpu"]
    assert row.before is not None
    assert str(row.before.gpus) == "4..40"


def test_a_new_pool_was_not_there() -> None:
    made = step("create", GROUP, "lab-gpu-group", after={"minSize": 1, "maxSize": 4})
    row = rows(made, environment=lab(with_gpus))["gpu"]
    assert row.before is None
    assert row.after is not None
    assert str(row.after.gpus) == "8..32"


def test_a_further_scale_set_is_room_for_more() -> None:
    def wide(raw: dict[str, Any]) -> None:
        raw["pools"]["wide"] = {"site": "weu", "machine_type": "Standard_ND96isr_H100_v5", "max": 150}

    row = rows(step("create", SET, "lab-wide-s1-set"), environment=lab(wide))["wide"]
    assert row.before is not None
    assert str(row.before.nodes) == "0..100"


def test_the_file_of_before_is_believed_rather_than_the_state() -> None:
    row = rows(changed("update", "lab-cpu-group", {"minSize": 2, "maxSize": 5}), base=lab())["cpu"]
    assert not row.changes


def test_the_table_shows_what_changes_and_the_sum() -> None:
    found = judged(step("create", GROUP, "lab-gpu-group"), environment=lab(with_gpus)).rows
    assert capacity_table(found) == [
        ("POOL", "SITE", "NODES", "GPUS", "CORES"),
        ("gpu", "use1", "0 -> 1..4", "0 -> 8..32", "0 -> 192..768"),
        ("2 as they are", "", "", "", ""),
        ("all", "", "2..11 -> 3..15", "0 -> 8..32", "4..40 -> 196..808"),
    ]
    assert str(total(found, after=True).nodes) == "3..15"


def test_without_prices_the_plan_says_so() -> None:
    assert judged().cost.summary.startswith("Not known: there are no prices.")


def test_the_difference_in_money() -> None:
    made = step("create", GROUP, "lab-gpu-group")
    cost = judged(made, environment=lab(with_gpus), prices=priced, prices_source="prices.yaml").cost
    assert cost.summary == (
        "+70,000 USD a month with all pools at their minimum (100 USD, then 70,100 USD), "
        "+280,000 USD at their maximum (1,000 USD, then 281,000 USD). Prices: prices.yaml."
    )


def test_what_has_no_price_is_named() -> None:
    made = step("create", GROUP, "lab-gpu-group")
    cost = judged(made, environment=lab(with_gpus), prices=partly_priced).cost
    assert cost.summary.endswith("Without a price, and not included: gpu.")


def test_a_saving_is_negative() -> None:
    cost = judged(changed("update", "lab-cpu-group", {"minSize": 1, "maxSize": 11}), prices=priced).cost
    assert "-100 USD at their maximum (1,100 USD, then 1,000 USD)" in cost.summary


def test_a_new_environment_costs_what_it_costs() -> None:
    stack = {**step("create", "x", "x"), "urn": "urn:pulumi:lab::longhaul::pulumi:pulumi:Stack::longhaul-lab"}
    assert judged(stack, prices=priced).cost.summary == (
        "100 USD a month with all pools at their minimum, 1,000 USD at their maximum."
    )


def test_what_a_site_cost_that_goes_is_in_its_file() -> None:
    gone = {
        "minSize": 0,
        "maxSize": 1,
        "tags": [{"key": "longhaul-pool", "value": "x"}, {"key": "longhaul-site", "value": "y"}],
    }
    assert "(--base FILE)" in judged(step("delete", GROUP, "lab-x-group", gone), prices=priced).cost.summary


def test_the_control_planes_machines_before_are_in_the_state() -> None:
    seen: list[Environment] = []

    def noting(environment: Environment) -> Pools:
        seen.append(environment)
        return priced(environment)

    after = lab(lambda raw: raw["control_plane"]["etcd"].update(machine_type="Standard_L16s_v3"))
    judged(machine("replace", "lab-etcd-0"), step("delete", VM, "lab-api-2"), environment=after, prices=noting)
    new, old = (environment.control_plane for environment in seen)
    assert (old.etcd.machine_type, new.etcd.machine_type) == ("Standard_L8s_v3", "Standard_L16s_v3")
    assert (old.api.servers, new.api.servers) == (3, 2)
