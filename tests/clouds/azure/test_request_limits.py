"""The autoscaler's reads and writes of scale sets, and the node controller's lists, within Azure's limits of requests:
at the lab's Azure, by a clock that the test turns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from clouds.azure import live_groups as azure
from clouds.azure.errors import refusal
from clouds.azure.live_groups import READ_S, AzureGroup
from clouds.azure.machine_lists import AzureMachineList
from clouds.azure.resource_manager import ResourceManager
from clouds.azure.scale_set_observer import SetList
from clouds.base.errors import CloudError
from contract.documents.node_controller import NodeEnvironment, NodeSite
from contract.documents.pools import DeclaredPool
from lab.cloud.delays import Delays
from longhaul.cli.examples import example
from services.autoscaler.group_reader import GroupReader
from services.autoscaler.scaling_pass import CLOSELY, FRESH_S, KEPT_S
from services.node_controller.inventory import LISTING_S, Inventory
from tests.lab.cloud import sets
from tests.lab.cloud.clock import TurnedClock
from tests.lab.cloud.conftest import GROUP, SUBSCRIPTION, Live, reached
from tests.lab.cloud.operator import Operator
from tests.support.api_server import eventually

GROWTH, SECONDS = 100, 300
"""Machines, of which one joins each second or two, so that they join for as long as 500 do three at a time, and the
simulated time. No number of requests depends on the number of machines."""
NAME = "prod-h100-azure"
SITE = NodeSite(name="weu", kind="azure", region="westeurope", subscription=SUBSCRIPTION, resource_group="lab")
POOL = DeclaredPool(name="h100", site="weu", groups=("lab-gpu",))
SITES = NodeEnvironment(name="lab", aws_role="", sites={"weu": SITE}, pools={"h100": POOL}, hosts={})


@pytest.fixture(name="clock")
def _clock() -> TurnedClock:
    return TurnedClock()


@pytest.fixture(name="live")
def _live(tmp_path: Path, clock: TurnedClock) -> Iterator[Live]:
    """A cloud with limits, and with an empty set whose machines have one address each."""
    with reached(Live(tmp_path / "cloud", delays=Delays(clock=clock), request_limits=True)) as live:
        sets.build_large(live)
        yield live


@pytest.fixture(name="group")
def _group(live: Live, clock: TurnedClock) -> AzureGroup:
    return AzureGroup("lab-gpu", resource_group=GROUP, session=Operator(live), clock=clock.now)


@pytest.fixture(name="reader")
def _reader(group: AzureGroup, clock: TurnedClock, monkeypatch: pytest.MonkeyPatch) -> Iterator[GroupReader]:
    """The autoscaler's reader of one pool on Azure."""
    whole = example("prod")
    monkeypatch.setattr(azure, "live_groups", lambda _place, _name: {NAME: group})
    environment = whole.model_copy(update={"pools": {"h100-azure": whole.pools["h100-azure"]}})
    reader = GroupReader(environment, clock=clock.now)
    yield reader
    reader.close()


def _state(live: Live) -> str:
    return str(live.arm("GET", sets.SET).json()["properties"]["provisioningState"])


def used(live: Live) -> Counter[str]:
    """Return how many requests there were since the last call, by the last part of their path."""
    assert live.cloud.request_buckets
    requests = live.cloud.request_buckets.requests
    counts: Counter[str] = Counter()
    for (name, resource), count in requests.items():
        lists = name == "HighCostGetVMScaleSet"
        counts[("machines" if resource == sets.SET.lower() else "sets") if lists else name] += count
    requests.clear()
    return counts


def test_machines_are_listed_when_the_set_or_one_of_them_may_have_changed(
    live: Live, clock: TurnedClock, group: AzureGroup
) -> None:
    nodes = frozenset({"lab-gpu-000000", "lab-gpu-000001"})
    group.resize(2)
    eventually(lambda: sets.capacity(live) == 2 and _state(live) == "Succeeded", what="the set is made")
    live.call(clock.turn(600))
    used(live)
    both = {"sets": 1, "machines": 1}
    for seconds, lists in ((0, both), (2, {}), (5, {"sets": 1}), (30, both)):
        live.call(clock.turn(seconds))
        observation = group.observe(nodes)
        assert (used(live), len(observation.group.machines)) == (Counter(lists), 2)
    assert group.observe(frozenset()).made.keys() == {"0", "1"}, "their ages are those of the last list"
    assert used(live) == Counter()
    group.end(["1"])
    used(live)
    assert group.observe(nodes).group.wanted == 1
    assert used(live) == Counter(both), "after a write of ours"
    eventually(lambda: len(sets.ids(live)) == 1, what="it is gone")
    live.call(clock.turn(30))
    assert len(group.observe(nodes).group.machines) == 1
    sets.scale(live, 3)
    live.call(clock.turn(5))
    used(live)
    assert group.observe(nodes).group.wanted == 3
    assert used(live) == Counter(both), "after somebody else's"


def test_a_set_that_is_missing_in_a_short_list_is_read_itself(
    live: Live, clock: TurnedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    group = AzureGroup("lab-gpu", resource_group=GROUP, session=Operator(live), clock=clock.now)
    used(live)
    monkeypatch.setattr(SetList, "document", lambda *_: None)
    assert group.observe(frozenset()).group.wanted == 0
    assert used(live)["GetVMScaleSet"] == 1
    missing = AzureGroup("lab-none", resource_group=GROUP, session=Operator(live), clock=clock.now)
    with pytest.raises(CloudError, match="was not found"):
        missing.observe(frozenset())


def test_what_was_read_is_what_is_written_on(live: Live, group: AzureGroup, clock: TurnedClock) -> None:
    assert group.size() == 0
    sets.scale(live, 1)
    with pytest.raises(CloudError, match="does not match etag"):
        group.resize(2)
    assert group.size() == 1
    used(live)
    group.resize(2)
    assert used(live) == Counter({"UpdateVMScaleSet": 1}), "it is not read again"
    assert group.size() == 2
    live.call(clock.turn(READ_S + 1))
    sets.scale(live, 3)
    group.resize(4)
    assert group.size() == 4, "what was read long ago counts no more"


def test_a_limit_of_one_set_is_told_from_that_of_the_subscription(live: Live, group: AzureGroup) -> None:
    errors = []
    for _ in range(14):
        try:
            group.resize(group.size() + 1)
        except CloudError as error:
            errors.append(error)
    assert errors
    assert all((error.alone, error.passing, error.busy) == (True, True, True) for error in errors)
    assert {error.retry_s for error in errors} == {60.0}
    headers = {"Retry-After": "17"}
    details = [{"code": "TooManyRequests", "target": "HighCostGetVMScaleSetSubscriptionMaximum"}]
    error = refusal("GET", {"code": "OperationNotAllowed", "details": details}, status=429, reason="", headers=headers)
    assert (error.alone, error.retry_s) == (False, 17.0)


def test_growth_of_many_machines_leaves_every_limit_alone(
    live: Live, clock: TurnedClock, group: AzureGroup, reader: GroupReader
) -> None:
    """Five minutes of passes as close as they get, each second: three writes, joins one after the other, and the node
    controller's lists of the same set, half of them for names that it does not know."""
    buckets = live.cloud.request_buckets
    assert buckets
    source = AzureMachineList(SITES, SITE, manager=ResourceManager(Operator(live)))
    inventory = Inventory(source, clock=clock.now)
    nodes: set[str] = set()
    errors: list[str] = []
    asked_at, listed_at = -CLOSELY.total_seconds(), -LISTING_S
    live.call(clock.turn(600))
    used(live)
    for second in range(SECONDS):
        live.call(clock.turn(1))
        keeps_s = FRESH_S if second - asked_at < CLOSELY.total_seconds() else KEPT_S
        (answer,) = reader.read(frozenset(nodes), keeps_s=lambda _name, keeps_s=keeps_s: keeps_s)["h100-azure"]
        errors += [f"{second} s: {answer.error}"] if answer.error else []
        wanted = {0: GROWTH - 40, 90: GROWTH - 20, 180: GROWTH}.get(second)
        if wanted:
            assert group.size() < wanted
            group.resize(wanted)
            reader.forget(NAME)
            asked_at = second
        if answer.group and second > 30:
            nodes |= set([machine.node for machine in answer.group.machines if machine.node not in nodes][:1])
        if second - listed_at >= source.apart_s:
            if second % LISTING_S < source.apart_s:
                inventory.list()
            else:
                inventory.want("lab-gpu-zzzzzz")
                inventory.ask()
            listed_at = second
    counts = used(live)
    minutes = {name: round(60 * count / SECONDS, 1) for name, count in sorted(counts.items())}
    print(f"\nrequests a minute: {minutes}; refused: {sum(buckets.refusals.values())}; without an answer: {errors[:3]}")
    assert (errors, dict(buckets.refusals)) == ([], {})
    assert answer.group
    assert (len(answer.group.machines), answer.group.wanted) == (GROWTH, GROWTH)
    assert nodes == {machine.node for machine in answer.group.machines}
    assert (counts["GetVMScaleSet"], counts["UpdateVMScaleSet"]) == (3, 3), "a write takes one read"
    assert minutes["sets"] <= 60 / group.apart_s
    assert minutes["machines"] <= 10
