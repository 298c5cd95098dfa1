"""Quarantine of a machine: its steps, what interrupts them, and what is refused."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from clouds.base.control import CommandOutput
from clouds.base.errors import CloudError
from clouds.base.quarantine import Suspect
from components.model import load
from components.model.secrets.vault import QUARANTINE
from contract.documents.quarantine import CERTIFICATE, Quarantine, Quarantined, format_time
from contract.kubernetes.connection import ApiError
from longhaul.machine.quarantine.node import CONTROLLERS_TRIES, PAUSE_S, pod_exposure
from longhaul.machine.quarantine.target import PoolMachine, begin_quarantine, recorded_machine, refuse_others
from longhaul.machine.quarantine.text import document, release_lines, step_lines
from longhaul.terminal.exits import CommandError, Exit
from longhaul.vault import quarantine as records
from longhaul.vault.quarantine import has_list, refuse_kept
from tests.longhaul.machine.quarantine_world import HOST, NODE, NOW, SERVERS, KilledError, World, node, pod, refuse


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


def test_its_disk_is_kept_and_in_the_list_before_it_can_notice(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    isolate, found = world.isolate, []

    def noticed(place: Any, suspect: Suspect) -> None:
        found.append((set(world.kept), world.listed().machines[0].kept))
        isolate(place, suspect)

    monkeypatch.setattr(world, "isolate", noticed)
    world.run().quarantine(world.entry, world.machine())
    assert found == [({f"vol of {NODE}"}, (NODE, f"vol of {NODE}"))]


@pytest.mark.parametrize("step", ["keep", "isolate"])
def test_a_cloud_that_refuses_holds_up_its_replacement_alone(
    world: World, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(world, step, refuse)
        with pytest.raises(CloudError):
            world.run().quarantine(world.entry, world.machine())
    assert world.refusing(NODE)
    assert (set(world.nodes), set(world.pods), world.open) == ({HOST}, {"other"}, set())
    assert (world.isolated, world.group) == ({NODE} if step == "keep" else set(), {NODE, "i-2"})
    (entry,) = world.listed().machines
    assert not entry.done
    world.run().quarantine(entry, world.machine())
    whole(world)


def test_a_disk_that_is_never_kept_does_not_keep_the_machine(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(world, "keep", refuse)
    entry = world.run(keep_disk=False).quarantine(world.entry, world.machine())
    assert (entry.done, entry.kept, world.group) == (True, (), {"i-2", "i-3"})


def test_a_node_that_others_write_without_an_end_is_told(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def conflict(_path: str, _body: dict[str, Any]) -> dict[str, Any]:
        raise ApiError("others wrote it", status=409)

    monkeypatch.setattr(world, "patch", conflict)
    with pytest.raises(ApiError):
        world.run().quarantine(world.entry, world.machine())
    assert world.refusing(NODE), "before its Node is written at all"


def test_a_host_is_refused_and_its_pods_go_and_nothing_is_asked_of_a_cloud(world: World) -> None:
    entry = Quarantined(name=HOST, site="rack", since=format_time(NOW))
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
        begin_quarantine(world.record(), NODE, now=NOW)
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
    with pytest.raises(CommandError, match=f"`longhaul machine quarantine --env lab {NODE}` continues") as refused:
        world.run().release(half, world.machine())
    assert refused.value.code is Exit.REFUSED
    assert (world.listed().machines, world.kept) == ((half,), {f"vol of {NODE}"})
    world.deaf.clear()
    entry, machine = begin_quarantine(world.record(), NODE, now=NOW + timedelta(hours=1))
    assert machine is not None
    assert (entry, machine.suspect) == (half, world.machine().suspect)
    world.run().quarantine(entry, world.machine())
    whole(world)
    world.run().release(world.listed().machines[0], world.machine())


def test_what_finalizers_keep_goes_and_is_told(world: World) -> None:
    """Controllers get some time to remove theirs."""
    for item, finalizer in ((world.pods["work"], "batch.kubernetes.io/job-tracking"), (world.nodes[NODE], "a.b/stay")):
        item["metadata"]["finalizers"] = [finalizer]
    world.run().quarantine(world.entry, world.machine())
    whole(world)
    assert world.waits[:-1] == [PAUSE_S] * (CONTROLLERS_TRIES + 1)
    (told,) = (line for line in world.said if line.startswith("finalizers"))
    assert told.endswith(f"a.b/stay of {NODE}, batch.kubernetes.io/job-tracking of work")


def test_an_object_that_never_goes_is_an_error(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(world, "delete", lambda _path, **_more: True)
    with pytest.raises(ApiError, match=r"pods/work, .*deleted, but still there"):
        world.run().quarantine(world.entry, world.machine())


def test_the_run_ends_when_nobody_remembers_the_pods_tokens(world: World) -> None:
    clock = [NOW]

    def pause(seconds: float) -> None:
        world.waits.append(seconds)
        clock[0] += timedelta(seconds=seconds)

    run = replace(world.run(), now=lambda: clock[0], pause=pause)
    entry = run.quarantine(world.entry, world.machine())
    assert (entry.pods_gone, world.waits) == (format_time(NOW + timedelta(seconds=PAUSE_S)), [PAUSE_S, 130.5])
    assert "waiting 130 s" in world.said[-2]
    void = document(entry, None)["tokens_void"]
    assert world.said[-1] == f"tokens of its pods are void everywhere since {void}"
    assert datetime.fromisoformat(void) == entry.tokens_void() == NOW + timedelta(seconds=131)
    run.quarantine(entry, world.machine())
    assert world.waits == [PAUSE_S, 130.5], "no pod was there any more"


def test_a_killed_run_s_wait_is_finished_by_the_next(world: World) -> None:
    world.taken = True
    with pytest.raises(CommandError):
        world.run().quarantine(world.entry, world.machine())
    world.taken, (entry,) = False, world.listed().machines
    assert entry.pods_gone == format_time(NOW)
    world.run(now=NOW + timedelta(seconds=100)).quarantine(entry, world.machine())
    assert world.waits[-1] == 31.0


def test_connections_wait_for_their_turn_when_all_else_is_done(world: World) -> None:
    world.taken = True
    with pytest.raises(CommandError, match="a key is being rotated"):
        world.run().quarantine(world.entry, world.machine())
    assert (world.refusing(NODE), world.open, world.group) == (True, set(SERVERS), {"i-2", "i-3"})
    assert not world.listed().machines[0].done
    world.taken = False
    world.run().quarantine(world.listed().machines[0], world.machine())
    whole(world)


def test_a_run_that_lost_its_turn_writes_nothing(world: World) -> None:
    before = dict(world.vault)
    with pytest.raises(CommandError, match="another run has taken over this quarantine"):
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
    monkeypatch.setattr("longhaul.machine.quarantine.target.pool_machine", lambda _environment, _name: None)
    entry, machine = begin_quarantine(world.record(), HOST, now=NOW)
    assert (entry.site, machine) == ("rack", None)
    for name in ("i-9", "worker", "Lab-node-9", "lab-node 9", 'lab-"]'):
        with pytest.raises(CommandError, match=r"has no machine and no host with the name") as refused:
            begin_quarantine(world.record(), name, now=NOW)
        assert refused.value.code is Exit.USAGE


@pytest.mark.parametrize("name", [NODE, "lab-node-9"], ids=["instance", "host"])
def test_a_machine_that_is_gone_is_refused_by_its_name(
    world: World, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr("longhaul.machine.quarantine.target.pool_machine", lambda _environment, _name: None)
    world.nodes.pop(name, None)
    world.pods.pop("work")
    entry, machine = begin_quarantine(world.record(), name, now=NOW)
    assert (entry.gone, entry.machine, machine) == (True, "", None)
    stand_in: Any = world
    assert (
        "no machine of a pool and no host"
        in step_lines(entry, machine, pod_exposure(stand_in, name), sites=world.environment.sites)[0]
    )
    entry = world.run().quarantine(entry, machine)
    assert (world.refusing(name), entry.done, world.isolated, world.kept) == (True, True, set(), set())
    assert begin_quarantine(world.record(), name, now=NOW) == (entry, None)
    assert recorded_machine(world.environment, entry) is None
    world.run().release(entry, None)
    assert (world.refusing(name), world.listed().unreleased) == (True, ())
    later = world.run(now=NOW + CERTIFICATE)
    later.quarantine(Quarantined(name=HOST, site="rack", since=format_time(NOW)), None)
    assert world.listed().names == (HOST,)


def test_a_machine_that_is_there_after_all_is_cut_off_by_the_next_run(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[PoolMachine | None] = [None]
    monkeypatch.setattr("longhaul.machine.quarantine.target.pool_machine", lambda _environment, _name: found[0])
    world.run().quarantine(*begin_quarantine(world.record(), NODE, now=NOW))
    world.nodes[NODE] = node(NODE)
    found[0] = world.machine()
    entry, machine = begin_quarantine(world.record(), NODE, now=NOW)
    world.run().quarantine(entry, machine)
    whole(world)


def test_a_half_done_quarantine_ends_though_its_site_left_the_file(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("longhaul.machine.quarantine.target.pool_machine", lambda _environment, _name: None)
    world.dies_at = 8
    with pytest.raises(KilledError):
        world.run().quarantine(world.entry, world.machine())
    kept = set(world.kept)
    sites = {name: site for name, site in world.environment.sites.items() if name != "use1"}
    pools = {name: pool for name, pool in world.environment.pools.items() if pool.site != "use1"}
    world.environment = world.environment.model_copy(update={"sites": sites, "pools": pools})
    entry, machine = begin_quarantine(world.record(), NODE, now=NOW)
    assert (entry.done, machine) == (False, None)
    stand_in: Any = world
    lines = "\n".join(step_lines(entry, machine, pod_exposure(stand_in, NODE), sites=sites))
    assert "of use1, a site that the file no longer has" in lines
    assert "If its machine runs on, end it yourself" in lines
    entry = world.run().quarantine(entry, machine)
    assert (entry.done, entry.kept, world.refusing(NODE), world.open) == (True, (NODE, f"vol of {NODE}"), True, set())
    assert release_lines(entry, recorded_machine(world.environment, entry))[1] == "- deleted for good: nothing"
    world.run().release(entry, None)
    assert (world.listed().unreleased, world.kept) == ((), kept), "what is kept is there, and the run said so"


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
    found = pod_exposure(stand_in, NODE)
    assert (found.pods, found.accounts) == (("default/work",), ("default/worker",))
    assert [name.removeprefix("default/") for name in found.secrets] == [
        "in-env", "in-envs", "in-projection", "in-volume", "pull",
    ]  # fmt: skip
    text = "\n".join(step_lines(world.entry, world.machine(), found, sites=world.environment.sites))
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
    with pytest.raises(CommandError, match=r"cannot be used.* Make an earlier version .*lab may keep"):
        refuse_kept(world.environment)
    monkeypatch.setattr(world, "secret", refuse)
    with pytest.raises(
        CommandError, match=r"cannot be read: UnauthorizedOperation\. So nothing was destroyed"
    ) as refused:
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
