"""Division of a pool into scale sets."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clouds.azure.groups import SCALE_SET, AzurePoolGroups, has_infiniband, largest_set
from components.model import Environment, load
from components.model.nodes.labels import label_fault, pool_labels
from components.model.sites.cloud_names import check_sets, pool_groups
from contract.labels import GROUP_LABEL, POOL_LABEL
from tests.support.hosts import EXAMPLES

H100, D32 = "Standard_ND96isr_H100_v5", "Standard_D32s_v5"


def environment(machine_type: str = H100, *, least: int = 0, most: int) -> Environment:
    production = load(EXAMPLES / "Pulumi.prod.yaml")
    changes = {"machine_type": machine_type, "min": least, "max": most}
    pool = production.pools["h100-azure"].model_copy(update=changes)
    return production.model_copy(update={"pools": {"p": pool}})


@pytest.mark.parametrize(
    ("machine_type", "expected"),
    [
        (H100, True),
        ("Standard_ND96amsr_A100_v4", True),
        ("Standard_NC24ads_A100_v4", False),
        (D32, False),
        ("Standard_L16s_v3", False),
    ],
)
def test_infiniband_keeps_a_set_in_one_placement_group(machine_type: str, expected: bool) -> None:
    assert has_infiniband(machine_type) is expected
    assert largest_set(machine_type) == (100 if expected else 1000)


@pytest.mark.parametrize(
    ("machine_type", "least", "most", "expected"),
    [
        (H100, 0, 1, [("prod-p", 0, 1)]),
        (H100, 7, 100, [("prod-p", 7, 100)]),
        (H100, 7, 101, [("prod-p", 7, 100), ("prod-p-s1", 0, 1)]),
        (H100, 220, 250, [("prod-p", 100, 100), ("prod-p-s1", 100, 100), ("prod-p-s2", 20, 50)]),
        (D32, 0, 1000, [("prod-p", 0, 1000)]),
        (D32, 1001, 2000, [("prod-p", 1000, 1000), ("prod-p-s1", 1, 1000)]),
    ],
)
def test_the_first_set_is_filled_before_the_next(
    machine_type: str, least: int, most: int, expected: list[tuple[str, int, int]]
) -> None:
    groups = pool_groups(environment(machine_type, least=least, most=most), "p")
    assert [(group.name, group.min, group.max) for group in groups] == expected


@given(most=st.integers(1, 7500), more=st.integers(0, 7500))
def test_growth_changes_no_set_but_the_last_and_adds_others(most: int, more: int) -> None:
    before = pool_groups(ENVIRONMENTS[most], "p")
    after = pool_groups(ENVIRONMENTS[min(most + more, 7500)], "p")
    assert after[: len(before) - 1] == before[:-1]
    assert [group.name for group in after[: len(before)]] == [group.name for group in before]
    assert sum(group.max for group in before) == most
    assert len({group.name for group in after}) == len(after)


class _Sizes(dict[int, Environment]):
    """Environments by the pool's largest size."""

    def __missing__(self, most: int) -> Environment:
        pool = BASE.pools["p"].model_copy(update={"max": most})
        return BASE.model_copy(update={"pools": {"p": pool}})


BASE = environment(most=1)
ENVIRONMENTS = _Sizes()


def test_on_aws_a_pool_is_one_group() -> None:
    production = load(EXAMPLES / "Pulumi.prod.yaml")
    name, pool = next((name, pool) for name, pool in production.pools.items() if pool.site == "use1")
    larger = production.model_copy(update={"pools": {name: pool.model_copy(update={"max": 7500})}})
    assert [(group.name, group.max) for group in pool_groups(larger, name)] == [(f"prod-{name}", 7500)]


@pytest.mark.parametrize("type_", [SCALE_SET, SCALE_SET.replace(":compute:", ":compute/v20240701:")])
def test_a_set_holds_so_many_whatever_its_types_version(type_: str) -> None:
    largest = AzurePoolGroups().largest
    assert (largest(type_, H100), largest(type_, D32)) == (100, 1000)


def test_a_pool_may_not_be_called_as_a_set_of_another() -> None:
    production = environment(most=250)
    other = production.pools["p"].model_copy(update={"max": 1})
    clash = production.model_copy(update={"pools": {**production.pools, "p-s2": other}})
    (finding,) = check_sets(clash)
    assert (finding.at, finding.wrong) == (
        ("pools", "p-s2"),
        "'prod-p-s2' is a scale set of pool p, which takes several",
    )
    smaller = clash.model_copy(update={"pools": {**clash.pools, "p": other}})
    assert list(check_sets(smaller)) == []


def test_nodes_say_which_set_they_are_of() -> None:
    labels = pool_labels(environment(most=250), "p", group="prod-p-s1")
    assert (labels[GROUP_LABEL], labels[POOL_LABEL]) == ("prod-p-s1", "p")
    assert GROUP_LABEL not in pool_labels(environment(most=250), "p")
    assert label_fault(GROUP_LABEL) == "is set by Longhaul"
