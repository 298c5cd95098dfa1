"""Gateways and load balancers that must follow a new world while earlier changes are still in progress, without a
machine."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lab.desired import DesiredBalancer, DesiredGateway, DesiredProbe, Network
from lab.hypervisor import balancer as balancers
from lab.hypervisor import gateways
from lab.hypervisor.balancer import Balancers
from lab.hypervisor.gateways import CloudGateways
from lab.hypervisor.vici import Tree
from tests.lab.hypervisor.links import NEAR, gateway

NETWORKS = {NEAR: Network(id=NEAR, name="near", ranges=(IPv4Network("10.1.0.0/16"),), subnets=())}
BACKEND = IPv4Address("10.1.0.4")


class Parts:
    """Stand-in for a gateway's parts. Its charon has its tunnels up until it ends, and starts again only once
    ``restarted`` is set. Its removal lasts until ``released`` is set."""

    made: tuple[Parts, ...] = ()

    def __init__(self, key: str, *_: Any) -> None:
        self.key = key
        self.linked: list[DesiredGateway] = []
        self.removing, self.released, self.removed = asyncio.Event(), asyncio.Event(), False
        self.alive, self.ended, self.restarted = True, asyncio.Event(), asyncio.Event()
        self._hear: Callable[[Tree], None] = lambda _: None
        Parts.made += (self,)

    async def link(self, gateway: DesiredGateway, network: Network) -> None:
        self.linked.append(gateway)

    def process(self) -> Any:
        return SimpleNamespace(alive=lambda: self.alive) if self.alive else None

    async def stop(self) -> None:
        return None

    async def start(self, name: str) -> Any:
        self.ended.set()
        await self.restarted.wait()

    async def connect(self, process: Any) -> Any:
        return SimpleNamespace(command=self._command, listen=self._listen, close=self.stop)

    async def _listen(self, name: str, hear: Callable[[Tree], None]) -> None:
        self._hear = hear if name == "list-sa" else self._hear

    async def _command(self, name: str, *_: Any) -> Tree:
        child: Tree = {"uniqueid": "1", "state": "INSTALLED"}
        if name == "list-sas":
            for number in range(2):
                self._hear({f"link-{number}": {"established": "1", "child-sas": {"one": child}}})
        return {}

    async def spread(self, rules: str) -> None:
        return None

    async def tune(self) -> None:
        return None

    async def destroy(self) -> None:
        self.removing.set()
        await self.released.wait()
        self.removed = True


@pytest.fixture(name="followed")
def _followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CloudGateways:
    (tmp_path / "netns").mkdir()
    monkeypatch.setattr(gateways, "RUN", tmp_path)
    monkeypatch.setattr(gateways, "CharonParts", Parts)
    monkeypatch.setattr("lab.hypervisor.gateways.nspawn.running", dict)
    monkeypatch.setattr(Parts, "made", ())
    nobody: Any = None
    return CloudGateways(nobody, nobody)


def test_a_gateway_wanted_again_while_it_goes_is_made_anew_once_it_is_gone(followed: CloudGateways) -> None:
    async def run() -> None:
        wanted = gateway(NEAR)
        await followed.follow([wanted], NETWORKS)
        await followed.follow([], NETWORKS)
        (first,) = Parts.made
        await asyncio.wait_for(first.removing.wait(), 60)
        again = asyncio.create_task(followed.follow([wanted], NETWORKS))
        await asyncio.sleep(0)
        assert [parts.linked for parts in Parts.made] == [[wanted]], "what is made now would be taken away"
        first.released.set()
        await asyncio.wait_for(again, 60)
        _, second = Parts.made
        assert (first.removed, second.linked, second.removed) == (True, [wanted], False)
        assert [told["id"] for told in followed.report()] == [wanted.id]
        await followed.close()

    asyncio.run(run())


def test_tunnels_are_down_once_their_charon_has_ended(followed: CloudGateways, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gateways, "_LOOK_S", 0.01)

    def up() -> list[bool]:
        return [tunnel["up"] for told in followed.report() for tunnel in told["tunnels"]]

    async def run() -> None:
        await followed.follow([gateway(NEAR)], NETWORKS)
        (parts,) = Parts.made
        async with asyncio.timeout(60):
            while up() != [True, True]:  # noqa: ASYNC110 - it is polled in life too
                await asyncio.sleep(0.01)
            parts.alive = False
            await parts.ended.wait()
        assert up() == [False, False], "before another charon is started"
        await followed.close()

    asyncio.run(run())


def test_a_backend_is_told_of_once_the_rules_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(balancers, "RUN", tmp_path)

    async def healthy(*_: Any) -> bool:
        return True

    monkeypatch.setattr(balancers, "probe", healthy)

    async def run() -> None:
        asked, laid = asyncio.Event(), asyncio.Event()

        async def lay_rules(network: str) -> None:
            asked.set()
            await laid.wait()

        followed = Balancers(changed=lay_rules)
        probe = DesiredProbe(protocol="tcp", port=1, interval_s=0.01, threshold=1)
        wanted = DesiredBalancer(
            id="lb", network=NEAR, frontend=IPv4Address("10.1.0.9"), port=80, backend_port=1, probe=probe,
            backends=(BACKEND,),
        )  # fmt: skip
        followed.follow((wanted,))
        await asyncio.wait_for(asked.wait(), 60)
        assert followed.healthy("lb") == (BACKEND,), "for the rules that are being laid"
        assert followed.verdicts() == {"lb": {str(BACKEND): False}}
        laid.set()
        async with asyncio.timeout(60):
            while followed.verdicts() != {"lb": {str(BACKEND): True}}:  # noqa: ASYNC110 - it is polled in life too
                await asyncio.sleep(0.01)
        await followed.close()

    asyncio.run(run())
