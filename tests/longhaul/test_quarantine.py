"""Quarantine of a machine: its steps, what interrupts them, and what is refused."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from clouds.base.control import CommandOutput
from clouds.base.errors import CloudError
from clouds.base.quarantine import Suspect
from components.model import Environment, load
from components.model.places import place_of
from components.model.quarantine import CERTIFICATE, Quarantine, Quarantined, moment
from components.model.vault import QUARANTINE
from longhaul.exits import CommandError, Exit
from longhaul.kubernetes.connection import ApiError
from longhaul.quarantine import record as records
from longhaul.quarantine.node import seen
from longhaul.quarantine.record import Record, has_list, refuse_kept
from longhaul.quarantine.steps import Steps
from longhaul.quarantine.target import PoolMachine, begun, recorded_machine, refuse_others
from longhaul.quarantine.text import told
from longhaul.status import collect
from longhaul.status.collect import parse_answer
from longhaul.status.fleet import Verdict, judge_nodes
from longhaul.status.observed import ClusterView, Endpoint, NodeView, Observed
from longhaul.status.quarantine import judge_quarantine

SERVERS = ("lab-api-0", "lab-api-1")
NODE, HOST = "i-0123456789abcdef0", "lab-node-0"
NOW = datetime(2030, 5, 4, 10, 30, tzinfo=UTC)
PODS = "/api/v1/pods"


class KilledError(Exception):
    """The run is killed here."""


class World:
    """A vault, API servers that know its list only when told to fetch, a cluster, and a cloud's group of two
    machines."""

    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        self.vault = {QUARANTINE: Quarantine().text()}
        self.refuses: dict[str, tuple[str, ...]] = dict.fromkeys(SERVERS, ())
        self.open = set(SERVERS)
        """Servers with connections from before."""
        self.deaf: set[str] = set()
        self.nodes: dict[str, dict[str, Any]] = {name: node(name) for name in (NODE, HOST)}
        self.pods = {"work": pod("work", NODE), "other": pod("other", HOST)}
        self.group, self.isolated, self.kept = {NODE, "i-2"}, set[str](), set[str]()
        self.steps, self.dies_at = 0, -1
        self.said: list[str] = []

    def step(self) -> None:
        self.steps += 1
        if self.steps == self.dies_at:
            raise KilledError

    # The vault and the machines.

    def secret(self, _place: Any, _vault: str, name: str) -> str | None:
        return self.vault.get(name)

    def set_secret(self, _place: Any, _vault: str, name: str, value: str) -> None:
        self.step()
        self.vault[name] = value

    def run_command(self, _place: Any, machine: str, script: str, *, timeout_s: float) -> CommandOutput:
        self.step()
        assert timeout_s > 0
        if machine in self.deaf:
            return CommandOutput(
                stdout=json.dumps({"names": [], "loaded": True, "ended": False, "error": ""}), stderr=""
            )
        if "--end-connections" in script:
            assert all(set(self.listed().names) <= {*names} for names in self.refuses.values()), "before all refuse"
            self.open.discard(machine)
        else:
            self.refuses[machine] = Quarantine.parse(self.vault[QUARANTINE]).names
        told = {"names": self.refuses[machine], "loaded": True, "ended": machine not in self.open, "error": ""}
        return CommandOutput(stdout=json.dumps(told), stderr="")

    # The cluster.

    def find(self, path: str) -> dict[str, Any] | None:
        return self.nodes.get(path.rpartition("/")[2])

    def patch(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        self.step()
        found = self.nodes[path.rpartition("/")[2]]
        assert body["metadata"]["resourceVersion"] == found["metadata"]["resourceVersion"]
        found["spec"] |= body["spec"]
        return found

    def items(self, path: str, *, fieldSelector: str) -> Iterator[dict[str, Any]]:  # noqa: N803
        assert path == PODS
        name = fieldSelector.removeprefix("spec.nodeName=")
        yield from [one for one in self.pods.values() if one["spec"]["nodeName"] == name]

    def delete(self, path: str, *, uid: str, grace_s: int | None = None) -> None:
        self.step()
        name = path.rpartition("/")[2]
        assert uid == f"uid of {name}"
        if "/pods/" in path:
            assert (grace_s, self.refusing(self.pods[name]["spec"]["nodeName"])) == (0, True)
            self.pods.pop(name, None)
        else:
            self.nodes.pop(name, None)

    def refusing(self, name: str) -> bool:
        return all(name in names for names in self.refuses.values())

    # The cloud.

    def told(self) -> tuple[str, ...]:
        return ("it is cut off",)

    def isolate(self, _place: Any, suspect: Suspect) -> None:
        self.step()
        assert "taints" not in self.nodes.get(suspect.node, node("none"))["spec"] or suspect.machine in self.isolated
        self.isolated.add(suspect.machine)

    def keep(self, _place: Any, suspect: Suspect) -> tuple[str, ...]:
        self.step()
        assert self.listed().names == (suspect.node,)
        self.kept.add(f"vol of {suspect.machine}")
        return (suspect.machine, f"vol of {suspect.machine}")

    def replace(self, _place: Any, suspect: Suspect) -> None:
        self.step()
        assert self.refusing(suspect.node)
        assert suspect.machine in self.isolated
        assert self.kept
        assert suspect.node not in self.nodes
        if suspect.machine in self.group:
            self.group = {*self.group - {suspect.machine}, "i-3"}

    def release(self, _place: Any, kept: tuple[str, ...]) -> None:
        self.step()
        self.kept -= set(kept)
        self.isolated -= set(kept)

    # What a test does.

    @property
    def entry(self) -> Quarantined:
        return Quarantined(
            name=NODE, site="use1", since=moment(NOW), pool="cpu", group="lab-cpu", machine=NODE, wanted=2
        )

    def machine(self) -> PoolMachine:
        stand_in: Any = self
        suspect = Suspect(node=NODE, group="lab-cpu", machine=NODE, wanted=2)
        return PoolMachine(place=place_of(self.environment, "use1"), pool="cpu", suspect=suspect, cloud=stand_in)

    def record(self) -> Record:
        stand_in: Any = self
        place = place_of(self.environment, self.environment.control_plane.site)
        return Record(control=stand_in, place=place, environment=self.environment)

    def run(self, *, now: datetime = NOW, held: bool = True) -> Steps:
        stand_in: Any = self
        return Steps(record=self.record(), api=stand_in, tell=self.said.append, now=lambda: now, held=lambda: held)

    def listed(self) -> Quarantine:
        return Quarantine.parse(self.vault[QUARANTINE])


def node(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "uid": f"uid of {name}", "resourceVersion": "7"}, "spec": {}}


def pod(name: str, on: str, **spec: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default", "uid": f"uid of {name}"}
    return {"metadata": metadata, "spec": {"nodeName": on, "serviceAccountName": "worker", **spec}}


@pytest.fixture(name="world")
def _world(root: Path) -> World:
    return World(load(root / "stacks" / "Pulumi.lab.yaml"))


def whole(world: World) -> None:
    """Hold that everything of a quarantine is done."""
    (found,) = world.listed().machines
    assert (found.name, found.done, found.kept) == (NODE, True, (NODE, f"vol of {NODE}"))
    assert world.refusing(NODE)
    assert world.open == set()
    assert (set(world.nodes), set(world.pods)) == ({HOST}, {"other"})
    assert (world.isolated, world.group) == ({NODE}, {"i-2", "i-3"})


def test_a_machine_is_refused_cut_off_kept_and_replaced(world: World) -> None:
    world.run().quarantine(world.entry, world.machine())
    whole(world)


def test_a_run_that_is_killed_anywhere_is_finished_by_the_next(world: World) -> None:
    """The stand-ins hold the order at each moment: in the list before its disk is kept, cut off before anything in the
    cluster tells of it, refused before its pods go, those before another."""
    world.run().quarantine(world.entry, world.machine())
    for moment_ in range(1, world.steps + 1):
        again = World(world.environment)
        again.dies_at = moment_
        with pytest.raises(KilledError):
            again.run().quarantine(again.entry, again.machine())
        entry = again.listed().find(NODE) or again.entry
        again.run().quarantine(entry, again.machine())
        whole(again)


def test_a_server_that_does_not_refuse_it_stops_the_run_when_it_is_cut_off(world: World) -> None:
    world.deaf.add("lab-api-1")
    with pytest.raises(CommandError, match=r"lab-api-1 could not fetch the list"):
        world.run().quarantine(world.entry, world.machine())
    assert (world.isolated, world.kept) == ({NODE}, {f"vol of {NODE}"})
    assert (set(world.pods), world.group) == ({"work", "other"}, {NODE, "i-2"})
    assert (world.listed().names, world.listed().machines[0].done) == ((NODE,), False)
    assert world.nodes[NODE]["spec"]["unschedulable"] is True


def test_its_disk_is_kept_and_in_the_list_before_it_can_notice(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    isolate, found = world.isolate, []

    def noticed(place: Any, suspect: Suspect) -> None:
        found.append((set(world.kept), world.listed().machines[0].kept))
        isolate(place, suspect)

    monkeypatch.setattr(world, "isolate", noticed)
    world.run().quarantine(world.entry, world.machine())
    assert found == [({f"vol of {NODE}"}, (NODE, f"vol of {NODE}"))]


def refuse(*_given: Any) -> None:
    raise CloudError("UnauthorizedOperation")


def test_a_cloud_that_does_not_cut_it_off_leaves_it_in_the_list(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(world, "isolate", refuse)
    with pytest.raises(CloudError):
        world.run().quarantine(world.entry, world.machine())
    assert (world.listed().names, set(world.pods)) == ((NODE,), {"work", "other"})


def test_a_disk_that_cannot_be_kept_leaves_nobody_connected(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(world, "keep", refuse)
        with pytest.raises(CloudError):
            world.run().quarantine(world.entry, world.machine())
    assert (world.isolated, world.group) == ({NODE}, {NODE, "i-2"})
    world.run().quarantine(world.listed().machines[0], world.machine())
    whole(world)


def test_a_host_is_refused_and_its_pods_go_and_nothing_is_asked_of_a_cloud(world: World) -> None:
    entry = Quarantined(name=HOST, site="rack", since=moment(NOW))
    entry = world.run().quarantine(entry, None)
    assert (set(world.nodes), set(world.pods), world.isolated) == ({NODE}, {"work"}, set())
    with pytest.raises(CommandError, match="give it another name in the hosts file") as refused:
        world.run(now=NOW + CERTIFICATE - timedelta(seconds=1)).release(entry, None)
    assert refused.value.code is Exit.REFUSED
    world.run(now=NOW + CERTIFICATE).release(entry, None)
    assert world.listed() == Quarantine()
    assert not world.refusing(HOST)


def test_a_released_machine_is_deleted_and_refused_as_long_as_its_certificate_lives(world: World) -> None:
    entry = world.run().quarantine(world.entry, world.machine())
    world.run().release(entry, world.machine())
    assert (world.kept, world.isolated, world.refusing(NODE)) == (set(), set(), True)
    with pytest.raises(CommandError, match=f"{NODE} was released; it is refused until"):
        begun(world.record(), NODE, now=NOW)
    later = World(world.environment)
    later.vault = world.vault
    later.run(now=NOW + CERTIFICATE).quarantine(replace(entry, name=HOST, machine="", kept=()), None)
    assert later.listed().names == (HOST,)


def test_its_31_days_begin_when_the_last_server_refuses_it(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, clock = world.run_command, [NOW]

    def slow(place: Any, machine: str, script: str, *, timeout_s: float) -> CommandOutput:
        if not world.refusing(NODE):
            clock[0] += timedelta(hours=5)
        return asked(place, machine, script, timeout_s=timeout_s)

    monkeypatch.setattr(world, "run_command", slow)
    entry = replace(world.run(), now=lambda: clock[0]).quarantine(world.entry, world.machine())
    assert entry.refused_until() == NOW + timedelta(hours=5 * len(SERVERS)) + CERTIFICATE
    assert world.listed().machines == (entry,)


def test_a_half_done_quarantine_is_not_released_and_its_run_goes_on(world: World) -> None:
    world.deaf.add("lab-api-1")
    with pytest.raises(CommandError):
        world.run().quarantine(world.entry, world.machine())
    (half,) = world.listed().machines
    with pytest.raises(CommandError, match=f"`longhaul machine quarantine --env lab {NODE}` goes on") as refused:
        world.run().release(half, world.machine())
    assert refused.value.code is Exit.REFUSED
    assert (world.listed().machines, world.kept) == ((half,), {f"vol of {NODE}"})
    world.deaf.clear()
    entry, machine = begun(world.record(), NODE, now=NOW + timedelta(hours=1))
    assert machine is not None
    assert (entry, machine.suspect) == (half, world.machine().suspect)
    world.run().quarantine(entry, world.machine())
    whole(world)
    world.run().release(world.listed().machines[0], world.machine())


def test_a_run_that_lost_its_turn_writes_nothing(world: World) -> None:
    before = dict(world.vault)
    with pytest.raises(CommandError, match="another run has taken this quarantine over"):
        world.run(held=False).quarantine(world.entry, world.machine())
    assert world.vault == before


def test_a_taint_that_somebody_changes_meanwhile_is_set_again(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    patch, tries = world.patch, []

    def raced(path: str, body: dict[str, Any]) -> dict[str, Any]:
        tries.append(path)
        if len(tries) == 1:
            raise ApiError("changed", status=409)
        return patch(path, body)

    monkeypatch.setattr(world, "patch", raced)
    world.run().quarantine(world.entry, world.machine())
    assert len(tries) == 2


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("lab-api-0", "longhaul up --env lab --replace lab-api-0"),
        ("lab-gw-0", "longhaul hosts --env lab --limit lab-gw-0"),
    ],
)
def test_what_cannot_be_put_into_quarantine_says_what_can_be_done(world: World, name: str, instead: str) -> None:
    with pytest.raises(CommandError, match=re.escape(instead)) as refused:
        refuse_others(world.environment, name)
    assert refused.value.code is Exit.USAGE


def test_a_name_that_nobody_has_is_an_error_and_a_host_s_is_found(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("longhaul.quarantine.target.pool_machine", lambda _environment, _name: None)
    entry, machine = begun(world.record(), HOST, now=NOW)
    assert (entry.site, machine) == ("rack", None)
    for name in ("i-9", "worker", "Lab-node-9", "lab-node 9", 'lab-"]'):
        with pytest.raises(CommandError, match=r"has no machine of the name .* in its pools and no host") as refused:
            begun(world.record(), name, now=NOW)
        assert refused.value.code is Exit.USAGE


@pytest.mark.parametrize("name", [NODE, "lab-node-9"], ids=["instance", "host"])
def test_a_machine_that_is_gone_is_refused_by_its_name(
    world: World, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr("longhaul.quarantine.target.pool_machine", lambda _environment, _name: None)
    world.nodes.pop(name, None)
    world.pods.pop("work")
    entry, machine = begun(world.record(), name, now=NOW)
    assert (entry.gone, entry.machine, machine) == (True, "", None)
    stand_in: Any = world
    assert "no machine in any pool and no host" in told(entry, machine, seen(stand_in, name))[0]
    entry = world.run().quarantine(entry, machine)
    assert (world.refusing(name), entry.done, world.isolated, world.kept) == (True, True, set(), set())
    assert begun(world.record(), name, now=NOW) == (entry, None)
    assert recorded_machine(world.environment, entry) is None
    world.run().release(entry, None)
    assert (world.refusing(name), world.listed().held) == (True, ())
    later = world.run(now=NOW + CERTIFICATE)
    later.quarantine(Quarantined(name=HOST, site="rack", since=moment(NOW)), None)
    assert world.listed().names == (HOST,)


def test_a_machine_that_is_there_after_all_is_cut_off_by_the_next_run(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[PoolMachine | None] = [None]
    monkeypatch.setattr("longhaul.quarantine.target.pool_machine", lambda _environment, _name: found[0])
    world.run().quarantine(*begun(world.record(), NODE, now=NOW))
    world.nodes[NODE] = node(NODE)
    found[0] = world.machine()
    entry, machine = begun(world.record(), NODE, now=NOW)
    world.run().quarantine(entry, machine)
    whole(world)


def test_an_environment_without_the_list_is_told_what_makes_it(world: World) -> None:
    world.vault.clear()
    with pytest.raises(CommandError, match="longhaul up --env lab --only infrastructure"):
        world.record().read()


def test_it_says_first_what_is_done_and_what_the_attacker_knows(world: World) -> None:
    env = {"env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "in-env"}}}]}
    more = {"envFrom": [{"secretRef": {"name": "in-envs"}}, {"configMapRef": {"name": "no"}}]}
    volumes = [
        {"secret": {"secretName": "in-volume"}},
        {"projected": {"sources": [{"secret": {"name": "in-projection"}}, {"serviceAccountToken": {}}]}},
    ]
    spec = {"containers": [env], "initContainers": [more], "volumes": volumes, "imagePullSecrets": [{"name": "pull"}]}
    world.pods["work"] = pod("work", NODE, **spec)
    stand_in: Any = world
    found = seen(stand_in, NODE)
    assert (found.pods, found.accounts) == (("default/work",), ("default/worker",))
    assert [name.removeprefix("default/") for name in found.secrets] == [
        "in-env", "in-envs", "in-projection", "in-volume", "pull",
    ]  # fmt: skip
    text = "\n".join(told(world.entry, world.machine(), found))
    for part in ("of pool cpu in use1", "1 pod ", "it is cut off", "5 Secrets", "default/pull"):
        assert part in text


def test_an_environment_that_keeps_machines_is_not_taken_down(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "record_of", lambda _environment: world.record())
    refuse_kept(world.environment)
    entry = world.run().quarantine(world.entry, world.machine())
    with pytest.raises(CommandError, match=f"{NODE} is in quarantine") as refused:
        refuse_kept(world.environment)
    assert refused.value.code is Exit.REFUSED
    world.run().release(entry, world.machine())
    refuse_kept(world.environment)


def test_what_may_keep_machines_is_not_taken_down_either(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "record_of", lambda _environment: world.record())
    world.vault[QUARANTINE] = "no list"
    with pytest.raises(CommandError, match=r"cannot be used.* Make an earlier version .*not known whether lab keeps"):
        refuse_kept(world.environment)
    monkeypatch.setattr(world, "secret", refuse)
    with pytest.raises(CommandError, match=r"cannot be read: UnauthorizedOperation\. So it is not known") as refused:
        refuse_kept(world.environment)
    assert refused.value.code is Exit.REFUSED


def test_a_list_that_is_not_there_keeps_nothing(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "record_of", lambda _environment: world.record())
    world.vault.clear()
    refuse_kept(world.environment)
    entry_ = {"type": "pulumi-python:dynamic/longhaul:Secret", "id": QUARANTINE}
    assert [has_list({"resources": made}) for made in ([entry_], [{**entry_, "id": "rotations"}], [], None)] == [
        True, False, False, False,
    ]  # fmt: skip
    assert not has_list({})


def observed(held: Quarantine, *, refuses: tuple[str, ...], nodes: tuple[str, ...] = ()) -> Observed:
    told = {"names": refuses, "loaded": True, "error": ""}
    views = tuple(
        NodeView(name=name, site="use1", pool="cpu", ready=True, reason="", created="", version="") for name in nodes
    )
    return Observed(
        cloud={},
        answers={"lab-api-0": parse_answer(json.dumps({"ready": True, "quarantine": told}), "")},
        endpoint=Endpoint(url="", reached=True),
        cluster=ClusterView(nodes=views),
        quarantine=held,
    )


def test_status_tells_who_is_in_quarantine_and_what_is_wrong(world: World) -> None:
    done = Quarantine(machines=(replace(world.entry, done=True, kept=("vol-1",)),))
    (found,) = judge_quarantine("lab", SERVERS[:1], observed(done, refuses=(NODE,)))
    assert (found.verdict, found.kept) == (Verdict.OK, ("vol-1",))
    assert f"`longhaul machine quarantine --env lab {NODE} --release` ends it" in found.reason
    (found,) = judge_quarantine("lab", SERVERS[:1], observed(Quarantine(machines=(world.entry,)), refuses=(NODE,)))
    assert (found.verdict, found.reason.startswith("half done")) == (Verdict.DEGRADED, True)
    (found,) = judge_quarantine("lab", SERVERS[:1], observed(done, refuses=()))
    assert (found.verdict, found.reason.startswith("lab-api-0 does not refuse it")) == (Verdict.UNHEALTHY, True)
    (found,) = judge_quarantine("lab", SERVERS[:1], observed(done, refuses=(NODE,), nodes=(NODE,)))
    assert (found.verdict, found.reason.startswith("a Node of its name is there")) == (Verdict.UNHEALTHY, True)
    released = Quarantine(machines=(replace(world.entry, released=moment(NOW)),))
    assert judge_quarantine("lab", SERVERS[:1], observed(released, refuses=(NODE,))) == ()


def test_status_names_the_servers_that_did_not_tell(world: World) -> None:
    done = Quarantine(machines=(replace(world.entry, done=True),))
    seen_ = observed(done, refuses=(NODE,))
    silent = parse_answer(json.dumps({"ready": False}), "")
    for answers in (seen_.answers, {**seen_.answers, "lab-api-1": silent}):
        (found,) = judge_quarantine("lab", SERVERS, replace(seen_, answers=answers))
        assert (found.verdict, found.reason.startswith("lab-api-1 did not tell")) == (Verdict.DEGRADED, True)


@pytest.mark.parametrize("broken", [False, True])
def test_status_tells_that_the_list_cannot_be_read(world: World, monkeypatch: pytest.MonkeyPatch, broken: bool) -> None:
    if broken:
        world.vault[QUARANTINE] = "no list"
    else:
        monkeypatch.setattr(world, "secret", refuse)
    held, error = collect._quarantine(world.record())
    seen_ = replace(observed(held, refuses=()), quarantine_error=error)
    (found,) = judge_quarantine("lab", SERVERS, seen_)
    assert (found.name, found.verdict) == ("(list)", Verdict.DEGRADED)
    assert f"the vault's secret {QUARANTINE} cannot be {'used' if broken else 'read'}" in found.reason


def test_status_says_nothing_of_a_list_that_is_not_there_yet(world: World) -> None:
    world.vault.clear()
    assert collect._quarantine(world.record()) == (Quarantine(), "")


def test_a_host_in_quarantine_is_not_said_to_be_made_a_node_again(world: World) -> None:
    held = Quarantine(machines=(Quarantined(name=HOST, site="rack", since=moment(NOW), done=True),))
    (host,) = [one for one in judge_nodes(world.environment, observed(held, refuses=(HOST,))) if one.name == HOST]
    assert (host.verdict, host.reason) == (Verdict.MISSING, "it is in quarantine, and refused")
