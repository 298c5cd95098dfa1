"""Rotation of the keys of tunnels: no more than one tunnel is at risk at any step, whatever interrupts it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from components.model import Environment, load
from components.model.network.tunnel_keys import READ_VARIABLE, TUNNELS
from components.model.secrets.rotations import STEADY
from components.model.secrets.vault import ROTATIONS
from longhaul.judgement.environment_parts import TUNNEL_KEY
from longhaul.rotate import stack
from longhaul.rotate.stack import Stack
from longhaul.rotate.tunnel_ends import StackTunnelEnds, tunnels_in
from longhaul.rotate.tunnels import KeyedTunnel
from longhaul.terminal.exits import CommandError
from tests.longhaul.rotate.overlap_world import KilledError, first_vault
from tests.longhaul.rotate.tunnel_world import TunnelWorld

Make = Callable[[], TunnelWorld]
AZURE = "azure-native:network:VirtualNetworkGatewayConnection"
AWS = "aws:ec2/vpnConnection:VpnConnection"


@pytest.fixture(scope="module", name="make")
def _make() -> Make:
    environment: Environment = load(Path(__file__).parents[3] / "stacks" / "Pulumi.lab.yaml")
    first = first_vault(environment)
    return lambda: TunnelWorld(environment, first)


def left(world: TunnelWorld) -> list[str]:
    return [name for name, value in world.vault.items() if name.endswith("-next") and value != "{}"]


def test_every_end_has_the_new_key_alone_at_the_end(make: Make) -> None:
    world = make()
    assert world.run() == STEADY
    assert world.is_replaced()
    assert (world.vault[ROTATIONS], left(world)) == ("{}", [])
    world.former = {key for one in world.ends for key in world.vault[one].split()}
    assert world.run() == STEADY
    assert world.is_replaced()


@pytest.mark.parametrize("busy", [False, True])
def test_a_run_that_is_killed_anywhere_is_finished_by_the_next(make: Make, *, busy: bool) -> None:
    """Also where `longhaul up` runs in the midst of it."""
    world = make()
    world.run()
    for moment in range(1, world.steps + 1):
        again = make()
        again.dies_at = moment
        with pytest.raises(KilledError):
            again.run()
        if busy:
            again.up()
        again.run()
        assert again.is_replaced()
        assert (again.vault[ROTATIONS], left(again)) == ("{}", [])


def test_up_at_every_step_neither_undoes_nor_skips_anything(make: Make) -> None:
    world = make()
    world.busy = True
    world.run()
    assert world.is_replaced()


def test_gateways_show_the_new_key_before_their_cloud_has_it_and_one_tunnel_waits_for_another(make: Make) -> None:
    world = make()
    seen: list[str] = []
    apply = world.apply

    def told(resources: Any) -> None:
        asked = list(resources)
        for one in asked:
            secret, _, cloud = one.partition("/")
            if cloud:
                keys = {gateway: world.ends[secret].held[gateway] for gateway in world.ends[secret].gateways}
                assert all(keys[0] not in world.former for keys in keys.values())
                seen.append(secret)
        apply(asked)

    world.apply = told  # type: ignore[method-assign]
    world.run()
    clouds = [one.secret for one in world.ends.values() for _ in one.clouds]
    assert seen == clouds


def test_an_environment_without_tunnels_has_none_to_rotate(make: Make) -> None:
    world = make()
    world.ends = {}
    with pytest.raises(CommandError, match="lab has no tunnels between sites"):
        world.run()
    assert world.standing == STEADY


def resource(type_: str, name: str, *, on: tuple[str, ...] = (), **inputs: Any) -> dict[str, Any]:
    return {"type": type_, "urn": f"urn::{name}", "inputs": inputs, "dependencies": [f"urn::{one}" for one in on]}


def test_the_state_tells_who_has_which_key() -> None:
    """Azure's connection to AWS gets the key of AWS's, and so depends on that."""
    found = tunnels_in(
        [
            resource(TUNNEL_KEY, "k1", secret="tunnel-1"),
            resource(TUNNEL_KEY, "k2", secret="tunnel-2", of_cloud=True),
            resource(TUNNEL_KEY, "k3", secret="tunnel-3"),
            resource("azure-native:network:LocalNetworkGateway", "remote"),
            resource(AZURE, "c1", on=("k1", "remote"), sharedKey="s"),
            resource(AWS, "c2", on=("k2",), tunnel1PresharedKey="s"),
            resource(AZURE, "c3", on=("c2",), sharedKey="s"),
            resource("aws:ec2/vpnConnectionRoute:VpnConnectionRoute", "route", on=("c2",)),
        ]
    )
    assert found == (
        KeyedTunnel(secret="tunnel-1", resource="urn::k1", users=("urn::c1",)),
        KeyedTunnel(secret="tunnel-2", resource="urn::k2", users=("urn::c2", "urn::c3"), of_cloud=True),
        KeyedTunnel(secret="tunnel-3", resource="urn::k3", users=()),
    )


def test_a_tunnel_whose_key_the_program_does_not_know_yet_keeps_a_rotation_from_its_beginning() -> None:
    """As in the state of a release in which AWS's keys could not be replaced."""
    with pytest.raises(ValueError, match="the keys of c2 are not known yet"):
        tunnels_in([{**resource(AWS, "c2"), "outputs": {"tunnel1PresharedKey": "s"}}])


def test_only_named_resources_are_changed_and_keys_are_read_again(
    monkeypatch: pytest.MonkeyPatch, make: Make, tmp_path: Path
) -> None:
    ran: list[Any] = []
    engine = SimpleNamespace(
        environ={}, stack="lab", run_or_fail=lambda *_words, **_more: json.dumps({"deployment": None})
    )

    def engine_for(_where: Any, environ: dict[str, str], **_more: Any) -> Any:
        engine.environ = environ
        return engine

    def change(_engine: Any, verb: str, words: list[str]) -> Any:
        ran.append((verb, words, dict(engine.environ)))
        events = SimpleNamespace(errors=[SimpleNamespace(message="409: the gateway is busy")])
        return SimpleNamespace(code=len(ran) - 1, interrupted=False, events=events)

    monkeypatch.setattr(stack, "engine_for", engine_for)
    monkeypatch.setattr(stack, "change_with_pending", change)
    monkeypatch.setattr(stack, "recover", lambda _engine: None)
    monkeypatch.setattr(stack.plugins, "require", lambda *_words, **_more: None)
    where: Any = SimpleNamespace(env="lab", project=None)
    log = tmp_path / "log"
    own = Stack(
        where=where,
        environment=make().environment,
        environ={"A": "b"},
        title=TUNNELS,
        variable=READ_VARIABLE,
        log=log,
        began=0.0,
    )
    ends = StackTunnelEnds(stack=own)
    ends.apply(["urn::a", "urn::b"])
    words = ["--yes", "--skip-preview", "--suppress-outputs", "--target", "urn::a", "--target", "urn::b"]
    assert ran == [("up", words, {"A": "b", "LONGHAUL_TUNNEL_KEYS": "yes"})]
    assert ends.tunnels() == ()
    with pytest.raises(
        CommandError, match=r"could not be changed: 409: the gateway is busy\. Run this again: it continues"
    ):
        ends.apply(["urn::a"])
