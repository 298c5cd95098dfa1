"""Status of machines in quarantine."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from components.model import load
from components.model.secrets.vault import QUARANTINE
from contract.documents.quarantine import Quarantine, Quarantined, format_time
from contract.reasons.status import StatusReason
from longhaul.cluster.nodes import NodeView
from longhaul.control_plane.node_answers import parse_answer
from longhaul.report.status_verdict import StatusVerdict
from longhaul.status import collection
from longhaul.status.fleet import judge_nodes
from longhaul.status.observed import ApiEndpoint, ClusterView, Observed
from longhaul.status.quarantine import judge_quarantine
from tests.longhaul.machine.quarantine_world import HOST, NODE, NOW, SERVERS, World, refuse


@pytest.fixture(name="world")
def _world(root: Path) -> World:
    return World(load(root / "stacks" / "Pulumi.lab.yaml"))


def observed(held: Quarantine, *, refuses: tuple[str, ...], nodes: tuple[str, ...] = ()) -> Observed:
    told = {"names": refuses, "loaded": True, "error": ""}
    views = tuple(
        NodeView(
            name=name,
            site="use1",
            pool="cpu",
            ready=True,
            reason=StatusReason.READY,
            message="",
            created="",
            version="",
        )
        for name in nodes
    )
    return Observed(
        cloud={},
        answers={
            "lab-api-0": parse_answer(
                json.dumps({"machine": "m", "role": "api", "ready": True, "quarantine": told}), ""
            )
        },
        endpoint=ApiEndpoint(url="", reached=True),
        cluster=ClusterView(nodes=views),
        quarantine=held,
    )


def test_status_tells_who_is_in_quarantine_and_what_is_wrong(world: World) -> None:
    done = Quarantine(machines=(replace(world.entry, done=True, kept=("vol-1",)),))
    (found,) = judge_quarantine(world.environment, SERVERS[:1], observed(done, refuses=(NODE,)))
    assert (found.verdict, found.kept) == (StatusVerdict.OK, ("vol-1",))
    assert f"`longhaul machine quarantine --env lab {NODE} --release` ends it" in found.message
    (found,) = judge_quarantine(
        world.environment, SERVERS[:1], observed(Quarantine(machines=(world.entry,)), refuses=(NODE,))
    )
    assert (found.verdict, found.reason) == (StatusVerdict.DEGRADED, StatusReason.HALF_DONE)
    (found,) = judge_quarantine(world.environment, SERVERS[:1], observed(done, refuses=()))
    assert (found.verdict, found.message.startswith("lab-api-0 does not refuse it")) == (StatusVerdict.UNHEALTHY, True)
    (found,) = judge_quarantine(world.environment, SERVERS[:1], observed(done, refuses=(NODE,), nodes=(NODE,)))
    assert (found.verdict, found.reason) == (StatusVerdict.UNHEALTHY, StatusReason.NODE_PRESENT)
    released = Quarantine(machines=(replace(world.entry, released=format_time(NOW)),))
    assert judge_quarantine(world.environment, SERVERS[:1], observed(released, refuses=(NODE,))) == ()


def test_status_names_the_servers_that_did_not_tell(world: World) -> None:
    done = Quarantine(machines=(replace(world.entry, done=True),))
    seen_ = observed(done, refuses=(NODE,))
    silent = parse_answer(json.dumps({"machine": "m", "role": "api", "ready": False}), "")
    for answers in (seen_.answers, {**seen_.answers, "lab-api-1": silent}):
        (found,) = judge_quarantine(world.environment, SERVERS, replace(seen_, answers=answers))
        assert (found.verdict, found.message.startswith("lab-api-1 did not report")) == (StatusVerdict.DEGRADED, True)


@pytest.mark.parametrize("broken", [False, True])
def test_status_tells_that_the_list_cannot_be_read(world: World, monkeypatch: pytest.MonkeyPatch, broken: bool) -> None:
    if broken:
        world.vault[QUARANTINE] = "no list"
    else:
        monkeypatch.setattr(world, "secret", refuse)
    held, error = collection._quarantine(world.record())
    seen_ = replace(observed(held, refuses=()), quarantine_error=error)
    (found,) = judge_quarantine(world.environment, SERVERS, seen_)
    assert (found.name, found.verdict) == ("(list)", StatusVerdict.DEGRADED)
    assert f"the vault's secret {QUARANTINE} cannot be {'used' if broken else 'read'}" in found.message


def test_status_says_nothing_of_a_list_that_is_not_there_yet(world: World) -> None:
    world.vault.clear()
    assert collection._quarantine(world.record()) == (Quarantine(), "")


def test_a_host_in_quarantine_is_not_said_to_be_made_a_node_again(world: World) -> None:
    held = Quarantine(machines=(Quarantined(name=HOST, site="rack", since=format_time(NOW), done=True),))
    (host,) = [one for one in judge_nodes(world.environment, observed(held, refuses=(HOST,))) if one.name == HOST]
    assert host.reason is StatusReason.QUARANTINED
    assert (host.verdict, host.message) == (StatusVerdict.MISSING, "it is in quarantine, and refused")


def test_a_host_that_the_hosts_file_does_not_cut_off_is_no_good_end(world: World) -> None:
    """No cloud cuts it off: its neighbours do, by the hosts file."""
    held = Quarantine(machines=(Quarantined(name=HOST, site="rack", since=format_time(NOW), done=True),))
    seen_ = observed(held, refuses=(HOST,))
    (found,) = judge_quarantine(world.environment, SERVERS[:1], seen_)
    assert found.verdict is StatusVerdict.DEGRADED
    assert "write `quarantined: true` into the entry of node-0 in the hosts file" in found.message
    hosts = [one.model_copy(update={"quarantined": True}) for one in world.environment.hosts]
    for its_file in (hosts, []):
        environment = world.environment.model_copy(update={"hosts": tuple(its_file)})
        (found,) = judge_quarantine(environment, SERVERS[:1], seen_)
        assert (found.verdict, found.message.startswith("kept: nothing")) == (StatusVerdict.OK, True)
