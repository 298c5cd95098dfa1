"""Peerings of networks: each needs two halves. What is refused, and what becomes of them."""

from __future__ import annotations

from ipaddress import IPv4Network

import pytest

from lab.desired import Route
from tests.lab.cloud import estate, links
from tests.lab.cloud.conftest import GROUP, NETWORK, Live
from tests.lab.cloud.links import code


def test_a_peering_is_made_by_its_two_halves(live: Live) -> None:
    estate.build(live, with_machine=False)
    live.put(links.SECOND_NETWORK, estate.network("127.9.0.0/16"))
    live.put(f"{links.SECOND_NETWORK}/subnets/a", estate.subnet("127.9.0.0/24"))
    half = live.put(links.PEERING, links.peering(links.SECOND_NETWORK))
    assert half["properties"]["peeringState"] == "Initiated"
    assert half["properties"]["remoteAddressSpace"]["addressPrefixes"] == ["127.9.0.0/16"]
    assert live.hypervisor.world.peerings == ()
    assert live.put(links.BACK, links.peering(NETWORK))["properties"]["peeringState"] == "Connected"
    live.put(estate.VM, estate.machine())  # waits until the hypervisor has seen everything before it
    (peering,) = live.hypervisor.world.peerings
    assert {peering.first, peering.second} == {NETWORK.lower(), links.SECOND_NETWORK.lower()}
    ways = {subnet.name: subnet.routes for one in live.hypervisor.world.networks for subnet in one.subnets}
    assert ways["api"] == (Route(destination=IPv4Network("127.9.0.0/16"), via=peering.id),)
    assert ways["a"] == (Route(destination=IPv4Network("127.8.0.0/16"), via=peering.id),)


def test_a_peering_that_lost_a_half_is_taken_up_from_the_other(live: Live) -> None:
    live.put(GROUP, estate.WHERE)
    live.put(NETWORK, estate.network())
    live.put(links.SECOND_NETWORK, estate.network("127.9.0.0/16"))
    live.put(links.PEERING, links.peering(links.SECOND_NETWORK))
    live.put(links.BACK, links.peering(NETWORK))
    live.wait(live.arm("DELETE", links.BACK))
    assert live.arm("GET", links.PEERING).json()["properties"]["peeringState"] == "Disconnected"
    assert code(live.arm("PUT", links.BACK, links.peering(NETWORK))) == "RemotePeeringIsDisconnected"
    assert live.put(links.PEERING, links.peering(links.SECOND_NETWORK))["properties"]["peeringState"] == "Initiated"
    assert live.put(links.BACK, links.peering(NETWORK))["properties"]["peeringState"] == "Connected"


@pytest.mark.parametrize(
    ("name", "prefix", "to", "expected"),
    [
        ("same", "127.8.128.0/17", f"{NETWORK}-other", "VnetAddressSpacesOverlap"),
        ("third", "127.9.128.0/17", f"{NETWORK}-other", "VnetAddressSpaceOverlapsWithAlreadyPeeredVnet"),
        ("itself", "127.10.0.0/16", NETWORK, "InvalidParameter"),
        ("again", "127.10.0.0/16", links.SECOND_NETWORK, "AnotherPeeringAlreadyReferencesRemoteVnet"),
        ("nothing", "127.10.0.0/16", f"{NETWORK}-none", "InvalidResourceReference"),
    ],
)
def test_peerings_that_are_refused(live: Live, name: str, prefix: str, to: str, expected: str) -> None:
    live.put(GROUP, estate.WHERE)
    live.put(NETWORK, estate.network())
    live.put(links.SECOND_NETWORK, estate.network("127.9.0.0/16"))
    live.put(f"{NETWORK}-other", estate.network(prefix))
    live.put(links.PEERING, links.peering(links.SECOND_NETWORK))
    assert code(live.arm("PUT", f"{NETWORK}/virtualNetworkPeerings/{name}", links.peering(to))) == expected
