"""A decision for the production example: its cluster and its clouds' groups in memory."""

from __future__ import annotations

import json
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from clouds.base.live_groups import Life
from clouds.base.prices import MachineKey, Price
from clouds.base.refusals import Cause, Refusal
from components.model import Environment
from components.model.prices.book import PriceBook
from contract.documents.autoscaler_memory import DecisionMemory, to_document
from contract.kubernetes.api import Api
from longhaul.cli.examples import example
from services.autoscaler import cluster_state, decision_memory
from services.autoscaler.decision_text import action_line
from services.autoscaler.declared_capacity import declared_capacity
from services.autoscaler.evaluation import evaluate_cluster
from services.autoscaler.scaling_pools import scaling_pools
from services.autoscaler.shared_limits import shared_limits
from tests.services.autoscaler.api_objects import node, pod
from tests.services.autoscaler.listed_cluster import NOW, Lists, Standing, machine

GIB = 2**30
TOLERATES = [{"key": "nvidia.com/gpu", "operator": "Exists"}]


@pytest.fixture(name="environment", scope="module")
def _environment() -> Environment:
    return example("prod")


def said(environment: Environment, api: Api, book: PriceBook | None = None) -> list[str]:
    return [action_line(action) for action in evaluate_cluster(environment, api, book or PriceBook()).decision.actions]


LEAST = "grow prod-cpu from 0 to 2: for its least size"


def test_waiting_pods_are_sent_to_the_declared_pools(environment: Environment, groups: dict[str, Standing]) -> None:
    asks = {"nvidia.com/gpu": "8"}
    waits = [
        pod(f"train-{index}", requests=asks, tolerations=TOLERATES, nodeSelector={"gpu": "h100"}) for index in range(3)
    ]
    assert said(environment, Lists(pods=waits)) == [
        LEAST,
        "grow prod-h100 from 0 to 3: for team/train-0 and 2 more",
    ]


def test_a_cloud_that_does_not_answer_is_said_and_the_others_are_used(
    environment: Environment, groups: dict[str, Standing]
) -> None:
    groups["h100"] = Standing(refuses="AWS us-east-1 does not answer")
    waits = pod("train", requests={"nvidia.com/gpu": "8"}, tolerations=TOLERATES, nodeSelector={"gpu": "h100"})
    evaluation = evaluate_cluster(environment, Lists(pods=[waits]), PriceBook())
    assert evaluation.unread_groups == ("prod-h100: AWS us-east-1 does not answer",)
    assert [action_line(action) for action in evaluation.decision.actions][1:] == [
        "grow prod-h100-west from 0 to 1: for team/train"
    ]


@pytest.mark.parametrize(
    ("there", "stands", "action"),
    [
        ((), "", "shrink prod-h100 from 1 to 0: {}; set back to the existing machines"),
        (("7",), "id-7", "end id-7 of prod-h100: it was never made: {}"),
    ],
    ids=["AWS", "Azure"],
)
def test_a_refusal_sends_the_demand_to_the_next_pool_at_once(
    environment: Environment, groups: dict[str, Standing], there: tuple[str, ...], stands: str, action: str
) -> None:
    words = "We currently do not have sufficient capacity. Our system will be working on it."
    refusal = Refusal(cause=Cause.CAPACITY, at=NOW - timedelta(minutes=2), words=words, machine=stands)
    groups["h100"] = Standing(wanted=1, machines=tuple(map(machine, there)), refused=(refusal,))
    waits = pod("train", requests={"nvidia.com/gpu": "8"}, tolerations=TOLERATES, nodeSelector={"gpu": "h100"})
    found = said(environment, Lists(pods=[waits]))
    put_back = action.format("refused (capacity): We currently do not have sufficient capacity")
    assert sorted(found) == sorted([LEAST, put_back, "grow prod-h100-west from 0 to 1: for team/train"])


def test_idle_nodes_go_by_what_was_remembered(environment: Environment, groups: dict[str, Standing]) -> None:
    names = [f"i-{index}" for index in range(4)]
    groups["cpu"] = Standing(machines=tuple(map(machine, names)))
    api = Lists(nodes=[node(name, pool="cpu") for name in names], pods=[pod("work", node="i-0")])
    memory = to_document(DecisionMemory(idle={"i-2": NOW - timedelta(hours=1)}))
    api.objects[decision_memory.MEMORY] = {"data": {"memory": json.dumps(memory)}}
    assert said(environment, api) == ["cordon i-2: nobody has worked on it for 60 min"]
    api.objects[decision_memory.MEMORY] = {"data": {"memory": "broken"}}
    assert said(environment, api) == []


def test_a_pool_that_is_being_rolled_is_left_alone(environment: Environment, groups: dict[str, Standing]) -> None:
    api = Lists()
    spec = {"holderIdentity": "somebody", "leaseDurationSeconds": 60, "renewTime": NOW.isoformat()}
    api.lists[cluster_state.LEASES] = [{"metadata": {"name": "longhaul-roll-cpu"}, "spec": spec}]
    assert said(environment, api) == []


def test_machines_that_are_no_nodes(environment: Environment, groups: dict[str, Standing]) -> None:
    lost, leaving = machine("i-lost"), machine("i-leaving", life=Life.LEAVING)
    there = [machine(f"i-{index}") for index in range(20)]
    made = {lost.id: (NOW - timedelta(hours=1)).isoformat()}
    groups["cpu"] = Standing(machines=(lost, leaving, *there), wanted=21, made=made)
    nodes = [node(one.node, pool="cpu") for one in there]
    api = Lists(nodes=nodes, pods=[pod(f"work-{one.node}", node=one.node) for one in there])
    memory = to_document(DecisionMemory(asked={"prod-cpu": NOW - timedelta(hours=1)}))
    api.objects[decision_memory.MEMORY] = {"data": {"memory": json.dumps(memory)}}
    assert said(environment, api) == ["end id-i-lost of prod-cpu: it has not become a node within 15 min"]


def test_a_new_node_has_what_its_machine_type_declares(environment: Environment) -> None:
    found = declared_capacity(environment, "h100")
    assert (found["nvidia.com/gpu"], found["pods"]) == (8, 16)
    assert 191_000 < found["cpu"] < 192_000
    assert 0.9 * 2048 * GIB < found["memory"] < 0.925 * 2048 * GIB
    assert found["ephemeral-storage"] == 84 * GIB, "AWS's default disk of 100 GiB beside local SSD"
    assert declared_capacity(environment, "cpu")["ephemeral-storage"] == 174 * GIB
    assert "ephemeral-storage" not in declared_capacity(environment, "h100-azure")


def test_an_unknown_machine_type_stops_its_own_pool_alone(
    environment: Environment, groups: dict[str, Standing]
) -> None:
    """A file may be newer than an image."""
    newer = environment.pools["cpu"].model_copy(update={"machine_type": "m99.huge"})
    pools = environment.model_copy(update={"pools": {**environment.pools, "cpu": newer}})
    waits = pod("train", requests={"nvidia.com/gpu": "8"}, tolerations=TOLERATES, nodeSelector={"gpu": "h100"})
    evaluation = evaluate_cluster(pools, Lists(pods=[waits]), PriceBook())
    assert [action_line(action) for action in evaluation.decision.actions] == [
        "grow prod-h100 from 0 to 1: for team/train"
    ]
    asked: dict[str, tuple[Any, ...]] = dict.fromkeys(pools.pools, ())
    known = {one.name: one for one in scaling_pools(pools, asked, [], prices=PriceBook(), closed={})}
    assert str(known["cpu"].closed) == "its machine type m99.huge is unknown to this autoscaler"
    assert known["h100"].closed is None


def test_prices_of_one_currency_are_compared(environment: Environment) -> None:
    asked: dict[str, tuple[Any, ...]] = dict.fromkeys(environment.pools, ())

    def price(currency: str) -> Price:
        return Price(amount=Decimal("7"), currency=currency, unit="hour", source="x", read=NOW.date())

    def found(book: PriceBook) -> dict[str, Decimal | None]:
        return {one.name: one.price for one in scaling_pools(environment, asked, [], prices=book, closed={})}

    cpu = MachineKey(cloud="aws", region="us-east-1", machine_type="m7i.4xlarge")
    h100 = MachineKey(cloud="aws", region="us-east-1", machine_type="p5.48xlarge")
    book = PriceBook({cpu: price("USD"), h100: price("USD")})
    assert (found(book)["cpu"], found(book)["h100-spot"], found(book)["a100"]) == (Decimal(7), Decimal(7), None)
    assert set(found(PriceBook({cpu: price("USD"), h100: price("EUR")})).values()) == {None}


def test_what_pools_share(environment: Environment) -> None:
    smaller = environment.model_copy(update={"max_nodes": 50})
    known = {one.name: one for one in shared_limits(smaller, _standing(smaller), (), sizes={})}
    assert known["max_nodes, 50,"].left == 50 - len(smaller.hosts)
    assert {name for name, _ in known["the number of addresses in use1"].each} == {"cpu", "h100", "h100-spot"}


def _standing(environment: Environment) -> Any:
    asked: dict[str, tuple[Any, ...]] = dict.fromkeys(environment.pools, ())
    return scaling_pools(environment, asked, [], prices=PriceBook(), closed={})
