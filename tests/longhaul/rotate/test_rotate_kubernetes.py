"""Rotation of the authority of API servers: nodes, kubeconfigs and machines to come know every server at each step."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from components.model import Environment, load
from components.model.secrets.encryption_keys import RotationPhase
from components.model.secrets.rotations import READ_VARIABLE, STEADY
from components.model.secrets.vault import QUARANTINE, ROTATIONS
from contract.documents.quarantine import Quarantine, Quarantined
from longhaul.rotate import stack
from longhaul.rotate.followers import LOOK_S, PATIENCE
from longhaul.rotate.kubernetes import AUTHORITY_TYPE, CERTIFICATE_TYPE, StackMachines, users_in
from longhaul.rotate.servers import digests
from longhaul.rotate.stack import Stack
from longhaul.terminal.exits import CommandError
from tests.longhaul.rotate.kubernetes_world import KUBECONFIG, WHAT, KubernetesWorld
from tests.longhaul.rotate.overlap_world import KilledError, first_vault

Make = Callable[[], KubernetesWorld]
TEMPLATE, GROUP = "aws:ec2/launchTemplate:LaunchTemplate", "aws:autoscaling/group:Group"
SCALE_SET = "azure-native:compute:VirtualMachineScaleSet"


@pytest.fixture(scope="module", name="environment")
def _environment() -> Environment:
    return load(Path(__file__).parents[3] / "stacks" / "Pulumi.lab.yaml")


@pytest.fixture(scope="module", name="make")
def _make(environment: Environment) -> Make:
    first = first_vault(environment)
    return lambda: KubernetesWorld(environment, first)


def test_the_new_one_alone_is_believed_by_everybody_at_the_end(make: Make) -> None:
    world = make()
    (former,) = world.believed
    first = world.run()
    assert (first.phase, first.until) == (RotationPhase.TRUST, world.now + KUBECONFIG)
    assert world.run() == first, "the time does not begin anew"
    world.finish()
    (now,) = world.believed
    assert (now != former, world.all_believe, world.vault[ROTATIONS]) == (True, True, "{}")
    assert former not in digests("".join(world.published.values()))
    # With both, and with the new one alone.
    assert world.restarts == 2
    assert world.starts == {"lab-api-0": 2, "lab-api-1": 2}


def test_a_run_that_is_killed_anywhere_is_finished_by_the_next(make: Make) -> None:
    world = make()
    world.finish()
    for moment in range(1, world.steps + 1):
        again = make()
        (former,) = again.believed
        again.dies_at = moment
        with pytest.raises(KilledError):
            again.finish()
        # Meanwhile time passes, a machine is made anew, and so is a node.
        again.dies_at = -1
        again.fetch(again.servers["lab-api-0"])
        again.servers["lab-api-0"].start()
        again.nodes["c"] = again.state
        again.follow()
        again.check()
        over = again.standing == STEADY and again.believed != (former,)
        before = again.believed
        again.finish()
        assert again.believed != (former,)
        assert again.believed == before or not over
        assert again.all_believe
        assert (again.vault[ROTATIONS], again.vault["ca-kubernetes-next"]) == ("{}", "{}")


def test_a_node_that_does_not_follow_stops_it_where_it_knows_every_server(make: Make) -> None:
    world = make()
    world.away = {"b"}
    began = world.now
    with pytest.raises(CommandError, match=r"the nodes b have not followed yet .* --without NAME"):
        world.run(now=True)
    assert world.now - began >= PATIENCE
    assert world.standing.phase is RotationPhase.TRUST
    world.away.clear()
    world.finish()
    assert world.all_believe


def test_a_node_that_was_made_anew_is_waited_for_before_servers_show_the_new_one(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its word from before, which its Node still has, is worth nothing."""
    world = make()
    world.careless = True
    sleep, made = world.sleep, list[float]()

    def slept(seconds: float) -> None:
        sleep(seconds)
        if not made and world.standing.phase is RotationPhase.TRUST and seconds > LOOK_S:
            made.append(seconds)
            world.make_anew("b")

    monkeypatch.setattr(world, "sleep", slept)
    world.run(now=True)
    assert (len(made), world.standing, world.all_believe) == (1, STEADY, True)
    assert "the nodes b have not followed yet" in "\n".join(world.told)


def test_it_goes_on_without_a_node_that_is_given_up(environment: Environment) -> None:
    world = KubernetesWorld(environment, without=("b",))
    world.away = {"b"}
    world.finish()
    assert world.all_believe
    assert digests(world.nodes["b"]) != world.believed


def test_a_machine_in_quarantine_learns_nothing_and_nobody_waits_for_it(make: Make) -> None:
    world = make()
    since = world.now.isoformat()
    quarantine = Quarantine(machines=(Quarantined(name="b", site="", since=since),))
    world.vault[QUARANTINE] = quarantine.text()
    world.away = world.silent = {"b"}
    world.refused = {"b"}
    world.finish()
    assert Quarantine.parse(world.vault[QUARANTINE]) == quarantine


def test_none_begins_where_a_node_does_not_say_what_it_believes(make: Make) -> None:
    world = make()
    before = dict(world.vault)
    world.silent = {"a"}
    with pytest.raises(CommandError, match=r"the nodes a do not report .* --without NAME"):
        world.run()
    world.silent, world.pending = set(), True
    with pytest.raises(CommandError, match="pools are not as its file says"):
        world.run()
    assert world.vault == before


def test_a_node_that_has_just_joined_gets_the_time_to_say_what_it_believes(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = make()
    world.silent, world.joined = {"a"}, {"a": world.now}
    follow = world.follow

    def later() -> None:
        if world.now >= world.joined["a"] + timedelta(minutes=3):
            world.silent = set()
        follow()

    monkeypatch.setattr(world, "follow", later)
    world.finish()
    assert world.all_believe


def test_nodes_that_keep_joining_hold_nobody_up(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    world = make()
    follow = world.follow

    def joining() -> None:
        name = f"new-{len(world.joined)}"
        world.nodes[name], world.joined[name] = world.state, world.now
        world.silent = {one for one, joined in world.joined.items() if world.now < joined + timedelta(minutes=3)}
        follow()

    monkeypatch.setattr(world, "follow", joining)
    world.run()
    assert (world.standing.phase, len(world.joined) > 1) == (RotationPhase.TRUST, True)
    assert world.standing.until is not None


def test_pods_from_before_stop_it_where_they_know_every_server(make: Make) -> None:
    world = make()
    world.hangs = True
    with pytest.raises(CommandError, match="old pods of coredns do not end"):
        world.run(now=True)
    assert world.standing.phase is RotationPhase.TRUST
    world.hangs = False
    world.finish()
    assert world.all_believe


def test_none_goes_on_before_both_are_published(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    world = make()
    former = world.root
    monkeypatch.setattr(KubernetesWorld, "root", former)
    with pytest.raises(CommandError, match="kube-controller-manager does not publish its machines' authorities"):
        world.run(now=True)
    assert world.standing.phase is RotationPhase.TRUST


def test_now_ends_kubeconfigs_and_nothing_else(make: Make) -> None:
    world = make()
    world.careless = True
    began = world.now

    assert world.run(now=True) == STEADY
    assert world.all_believe
    assert world.now - began < timedelta(hours=1)
    assert any("copies of the break-glass one, of the former key stop working" in line for line in world.told)


def test_the_run_itself_goes_on_believing(make: Make) -> None:
    """Its connection is from before the new one."""
    world = make()
    world.run()
    assert world.trusted is not None
    assert len(digests(world.trusted)) == 2


def test_profiles_are_handed_out_anew_where_people_sign_in(environment: Environment) -> None:
    identity = environment.identity.model_copy(update={"issuers": {"people": None}})
    signing_in = environment.model_copy(update={"identity": identity})
    world = KubernetesWorld(signing_in, first_vault(environment))
    world.finish()
    assert sum("profiles for `longhaul login`" in line for line in world.told) == 2, "once in each run that trusts"
    world = KubernetesWorld(environment, first_vault(environment))
    world.finish()
    assert not any("profiles" in line for line in world.told)


def resource(type_: str, name: str, *, on: tuple[str, ...] = (), **inputs: Any) -> dict[str, Any]:
    return {"type": type_, "urn": f"urn::{name}", "inputs": inputs, "dependencies": [f"urn::{one}" for one in on]}


RESOURCES = [
    resource(AUTHORITY_TYPE, "ca", secret="ca-kubernetes"),
    resource(AUTHORITY_TYPE, "other", secret="ca-nodes"),
    resource(CERTIFICATE_TYPE, "leaf", on=("ca",)),
    resource(TEMPLATE, "template", on=("ca", "role")),
    resource(GROUP, "group", on=("template", "subnet")),
    resource(SCALE_SET, "set", on=("ca",)),
    resource(SCALE_SET, "another", on=("other",)),
    resource("longhaul:azure:ControlMachine", "machine", on=("leaf",)),
]


def test_the_state_tells_whose_user_data_has_it() -> None:
    assert users_in(RESOURCES) == ("urn::ca", "urn::template", "urn::set", "urn::group")


def test_user_data_is_changed_alone_and_only_where_all_else_is_as_declared(
    environment: Environment, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ran: list[tuple[list[str], str]] = []
    codes = {"preview": 1, "up": 0}

    def engine_for(_where: Any, environ: dict[str, str], **_more: Any) -> Any:
        read = environ.get(READ_VARIABLE, "")

        def follow(words: list[str]) -> Any:
            ran.append((words, read))
            return SimpleNamespace(code=codes[words[0]])

        return SimpleNamespace(
            stack="lab",
            environ=environ,
            argv=lambda *words, configured: [*words, "--stack", "lab"] if configured else [],
            follow=follow,
            run_or_fail=lambda *_words, **_more: json.dumps({"deployment": {"resources": RESOURCES}}),
        )

    monkeypatch.setattr(stack, "engine_for", engine_for)
    monkeypatch.setattr(stack, "recover", lambda _engine: None)
    monkeypatch.setattr(stack.plugins, "require", lambda *_words, **_more: None)
    monkeypatch.setattr(stack, "change_with_pending", lambda engine, verb, words: engine.follow([verb, *words]))
    where: Any = SimpleNamespace(env="lab", project=None)
    log = tmp_path / "log"
    machines = StackMachines(
        stack=Stack(
            where=where, environment=environment, environ={}, title=WHAT, variable=READ_VARIABLE, log=log, began=0.0
        )
    )
    with pytest.raises(CommandError, match="pools are not as its file says, and this would change them"):
        machines.refuse_other_changes()
    with pytest.raises(CommandError, match="pools are not as its file says"):
        machines.learn()
    codes["preview"] = 0
    machines.learn()
    *_, (before, unread), (words, read) = ran
    targets = [word for name in ("ca", "template", "set", "group") for word in ("--target", f"urn::{name}")]
    assert before == ["preview", "--stack", "lab", "--suppress-outputs", "--expect-no-changes", *targets]
    assert (unread, read, words[-len(targets) :]) == ("", "yes", targets)
