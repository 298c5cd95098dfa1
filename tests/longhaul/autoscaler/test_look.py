"""A look at the production example: its cluster and its clouds' groups in memory, and the command."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from clouds.aws import live_groups as aws
from clouds.azure import live_groups as azure
from clouds.base.errors import CloudError
from clouds.base.live_groups import GroupState, Life, LiveMachine
from clouds.base.place import Place
from clouds.base.prices import MachineKey, Price
from clouds.base.refusals import Cause, Refusal
from components.model import Environment
from longhaul.autoscaler import reading, store
from longhaul.autoscaler.look import look
from longhaul.autoscaler.memory import Memory, to_document
from longhaul.autoscaler.pools import capacity, limits, pools
from longhaul.autoscaler.text import line
from longhaul.cli import main
from longhaul.cli.examples import example
from longhaul.cluster import api_access as cluster
from longhaul.costs.book import PriceBook
from longhaul.kubernetes.api import Api
from longhaul.kubernetes.connection import ApiError
from longhaul.terminal.exits import Exit
from tests.longhaul.autoscaler.objects import Object, node, pod
from tests.longhaul.conftest import Checkout

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
GIB = 2**30
TOLERATES = [{"key": "nvidia.com/gpu", "operator": "Exists"}]


class Lists(Api):
    """A cluster's API: lists by path, and 404 for kinds that it does not know."""

    def __init__(self, **lists: Sequence[Object]) -> None:
        self.lists: dict[str, Sequence[Object]] = {
            **dict.fromkeys(
                (reading.BUDGETS, reading.DAEMON_SETS, reading.LEASES, reading.NAMESPACES, reading.TEMPLATES), ()
            ),
            reading.PODS: lists.pop("pods", ()),
            reading.NODES: lists.pop("nodes", ()),
        }
        self.objects: dict[str, Object] = {}
        self.down: ApiError | None = None

    def items(self, path: str, **query: str) -> Iterator[Object]:
        assert not query, "everything is listed at once"
        if self.down:
            raise self.down
        if path not in self.lists:
            raise ApiError(f"{path} not found", status=404)
        yield from self.lists[path]

    def find(self, path: str) -> Object | None:
        return self.objects.get(path)

    def now(self) -> datetime:
        return NOW


@dataclass
class Standing:
    """A group that may only be read."""

    machines: tuple[LiveMachine, ...] = ()
    wanted: int = 0
    refuses: str = ""
    made: Mapping[str, str] = field(default_factory=dict)
    refused: tuple[Refusal, ...] = ()

    def look(self) -> GroupState:
        if self.refuses:
            raise CloudError(self.refuses)
        return GroupState(target="v1", wanted=self.wanted or len(self.machines), machines=self.machines)

    def made_at(self, machines: Sequence[LiveMachine]) -> Mapping[str, str]:
        return {one.id: self.made[one.id] for one in machines if one.id in self.made}

    def refusals(self) -> tuple[Refusal, ...]:
        assert len(self.machines) < self.wanted or self.machines, "a group that has what it wants is not asked"
        return self.refused


@pytest.fixture(name="environment", scope="module")
def _environment() -> Environment:
    return example("prod")


@pytest.fixture(name="groups")
def _groups(monkeypatch: pytest.MonkeyPatch) -> dict[str, Standing]:
    """Groups by pool; those that no test names are empty."""
    groups: dict[str, Standing] = {}

    def of_pool(place: Place[Any], name: str) -> dict[str, Standing]:
        return {place.cloud_name(place.pool_resource(name)): groups.get(name, Standing())}

    for cloud in (aws, azure):
        monkeypatch.setattr(cloud, "live_groups", of_pool)
    return groups


def machine(name: str, **more: Any) -> LiveMachine:
    return LiveMachine(id=f"id-{name}", node=name, current=True, **more)


def said(environment: Environment, api: Api, book: PriceBook | None = None) -> list[str]:
    return [line(action) for action in look(environment, api, book or PriceBook()).decision.actions]


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
    looked = look(environment, Lists(pods=[waits]), PriceBook())
    assert looked.blind == ("prod-h100: AWS us-east-1 does not answer",)
    assert [line(one) for one in looked.decision.actions][1:] == ["grow prod-h100-west from 0 to 1: for team/train"]


@pytest.mark.parametrize(
    ("there", "stands", "action"),
    [
        ((), "", "shrink prod-h100 from 1 to 0: {}; back to what exists"),
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
    memory = to_document(Memory(idle={"i-2": NOW - timedelta(hours=1)}))
    api.objects[store.MEMORY] = {"data": {"memory": json.dumps(memory)}}
    assert said(environment, api) == ["cordon i-2: nobody has worked on it for 60 min"]
    api.objects[store.MEMORY] = {"data": {"memory": "broken"}}
    assert said(environment, api) == []


def test_a_pool_that_is_being_rolled_is_left_alone(environment: Environment, groups: dict[str, Standing]) -> None:
    api = Lists()
    spec = {"holderIdentity": "somebody", "leaseDurationSeconds": 60, "renewTime": NOW.isoformat()}
    api.lists[reading.LEASES] = [{"metadata": {"name": "longhaul-roll-cpu"}, "spec": spec}]
    assert said(environment, api) == []


def test_machines_that_are_no_nodes(environment: Environment, groups: dict[str, Standing]) -> None:
    lost, leaving = machine("i-lost"), machine("i-leaving", life=Life.LEAVING)
    there = [machine(f"i-{index}") for index in range(20)]
    made = {lost.id: (NOW - timedelta(hours=1)).isoformat()}
    groups["cpu"] = Standing(machines=(lost, leaving, *there), wanted=21, made=made)
    nodes = [node(one.node, pool="cpu") for one in there]
    api = Lists(nodes=nodes, pods=[pod(f"work-{one.node}", node=one.node) for one in there])
    memory = to_document(Memory(asked={"prod-cpu": NOW - timedelta(hours=1)}))
    api.objects[store.MEMORY] = {"data": {"memory": json.dumps(memory)}}
    assert said(environment, api) == ["end id-i-lost of prod-cpu: it has not become a node within 15 min"]


def test_a_new_node_has_what_its_machine_type_declares(environment: Environment) -> None:
    found = capacity(environment, "h100")
    assert (found["nvidia.com/gpu"], found["pods"]) == (8, 16)
    assert 191_000 < found["cpu"] < 192_000
    assert 0.9 * 2048 * GIB < found["memory"] < 0.925 * 2048 * GIB
    assert "ephemeral-storage" not in found


def test_prices_of_one_currency_are_compared(environment: Environment) -> None:
    asked: dict[str, tuple[Any, ...]] = dict.fromkeys(environment.pools, ())

    def price(currency: str) -> Price:
        return Price(amount=Decimal("7"), currency=currency, unit="hour", source="x", read=NOW.date())

    def found(book: PriceBook) -> dict[str, Decimal | None]:
        return {one.name: one.price for one in pools(environment, asked, [], prices=book, closed={})}

    cpu = MachineKey(cloud="aws", region="us-east-1", machine_type="m7i.4xlarge")
    h100 = MachineKey(cloud="aws", region="us-east-1", machine_type="p5.48xlarge")
    book = PriceBook({cpu: price("USD"), h100: price("USD")})
    assert (found(book)["cpu"], found(book)["h100-spot"], found(book)["a100"]) == (Decimal(7), Decimal(7), None)
    assert set(found(PriceBook({cpu: price("USD"), h100: price("EUR")})).values()) == {None}


def test_what_pools_share(environment: Environment) -> None:
    smaller = environment.model_copy(update={"max_nodes": 50})
    known = {one.name: one for one in limits(smaller, _standing(smaller), (), sizes={})}
    assert known["max_nodes, 50,"].left == 50 - len(smaller.hosts)
    assert {name for name, _ in known["what has addresses in use1"].each} == {"cpu", "h100", "h100-spot"}


def _standing(environment: Environment) -> Any:
    asked: dict[str, tuple[Any, ...]] = dict.fromkeys(environment.pools, ())
    return pools(environment, asked, [], prices=PriceBook(), closed={})


@pytest.fixture(name="api")
def _api(monkeypatch: pytest.MonkeyPatch) -> Lists:
    api = Lists()

    @contextmanager
    def given(*_: object) -> Iterator[Api]:
        yield api

    monkeypatch.setattr(cluster, "api_of", given)
    return api


def command(checkout: Checkout, *words: str) -> int:
    return main(["autoscaler", "--env", "dev", "--project", str(checkout.path), *words])


def test_the_command_says_what_would_be_done(
    checkout: Checkout, groups: dict[str, Standing], api: Lists, capsys: pytest.CaptureFixture[str]
) -> None:
    checkout.gains_hosts()
    api.lists[reading.PODS] = [pod("huge", requests={"cpu": "4k"})]
    assert command(checkout, "--once", "--dry-run") == Exit.OK
    assert "tell team/huge: no pool can hold this: asks 4000 cores, largest is " in capsys.readouterr().out
    assert command(checkout, "--once", "--dry-run", "--json") == Exit.OK
    found = json.loads(capsys.readouterr().out)
    assert (found["environment"], found["not_seen"]) == ("dev", [])
    assert next(one for one in found["actions"] if one["action"] == "tell")["pods"] == ["team/huge"]


def test_idle_nodes_are_named(
    checkout: Checkout, groups: dict[str, Standing], api: Lists, capsys: pytest.CaptureFixture[str]
) -> None:
    checkout.gains_hosts()
    groups["cpu"] = Standing(machines=(machine("i-1"),))
    api.lists[reading.NODES] = [node("i-1", pool="cpu")]
    assert command(checkout, "--once", "--dry-run") == Exit.OK
    assert capsys.readouterr().out.splitlines()[-1] == "idle: 1 node: i-1"


def test_what_could_not_be_read_is_no_success(
    checkout: Checkout, groups: dict[str, Standing], api: Lists, capsys: pytest.CaptureFixture[str]
) -> None:
    checkout.gains_hosts()
    groups["cpu"] = Standing(refuses="AWS does not answer")
    assert command(checkout, "--once", "--dry-run") == Exit.FAILED
    assert "not seen: dev-cpu: AWS does not answer" in capsys.readouterr().out
    api.down = ApiError("no answer", status=0)
    assert command(checkout, "--once", "--dry-run") == Exit.UNREACHABLE


def test_it_does_not_act_beside_another_one(
    checkout: Checkout, groups: dict[str, Standing], api: Lists, capsys: pytest.CaptureFixture[str]
) -> None:
    checkout.gains_hosts()
    spec = {"holderIdentity": "api-0", "leaseDurationSeconds": 15, "renewTime": NOW.isoformat()}
    api.objects[f"{reading.LEASES}/longhaul-autoscaler"] = {"metadata": {}, "spec": spec}
    assert command(checkout, "--once") == Exit.FAILED
    assert "another autoscaler acts (held by api-0): end it first" in capsys.readouterr().err
