"""Packet filter of a rack's gateway, in network namespaces. The tunnel's interface is that of ESP in user space, which
any link of that name can be."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import jinja2
import pytest

from tests.components.test_rules import FILTER
from tests.support.alone import NEEDS_ROOT
from tests.support.node_network import Namespace, connect, heard, namespace

pytestmark = NEEDS_ROOT

BLOCK = "10.66.0.0/16"
HOST, POD, ELSEWHERE = "10.66.32.4", "10.66.128.3", "10.65.128.9"
SERVER = "10.64.0.20"
THIEF, ITS_POD, OPERATOR = "10.66.32.9", "10.66.129.3", "10.79.128.1"


def rules(*, libipsec: bool) -> str:
    return jinja2.Template(FILTER.read_text(encoding="utf-8")).render(
        gateway_supernet="10.64.0.0/12",
        gateway_block=BLOCK,
        gateway_operators=["10.79.128.0/18"],
        gateway_quarantined=[f"{THIEF}/32", "10.66.129.0/24"],
        gateway_mss=1360,
        gateway_uses_libipsec=libipsec,
    )


@dataclass(frozen=True, kw_only=True)
class Scene:
    """A gateway between its site and another."""

    gateway: Namespace
    site: Namespace
    other: Namespace


@pytest.fixture(scope="module", name="scene")
def _scene() -> Iterator[Scene]:
    with ExitStack() as stack:
        gateway, site, other = (stack.enter_context(namespace()) for _ in range(3))
        connect(gateway, "eth0", "10.66.0.10/16", site, f"{HOST}/16")
        connect(gateway, "ipsec0", "192.0.2.2/30", other, "192.0.2.1/30")
        for one, way in ((gateway, "192.0.2.1"), (site, "10.66.0.10"), (other, "192.0.2.2")):
            one.run("ip", "route", "add", "default", "via", way)
        for address in (ELSEWHERE, OPERATOR):
            other.run("ip", "address", "add", f"{address}/16", "dev", "lo")
        for address in (THIEF, ITS_POD):
            site.run("ip", "address", "add", f"{address}/32", "dev", "lo")
        # The kernel's own check of sources is off: the rules alone have to do it.
        for one, link in ((gateway, "eth0"), (gateway, "ipsec0"), (site, "eth0"), (other, "eth0")):
            one.run(
                "sysctl", "--quiet", "--write", "net.ipv4.conf.all.rp_filter=0", f"net.ipv4.conf.{link}.rp_filter=0"
            )
        gateway.run("sysctl", "--quiet", "--write", "net.ipv4.ip_forward=1")
        gateway.run("nft", "--file", "-", stdin=rules(libipsec=True))
        yield Scene(gateway=gateway, site=site, other=other)


def test_a_site_sends_from_its_own_block_alone(scene: Scene) -> None:
    forged = [SERVER, "10.65.1.1", "10.79.128.1", "198.51.100.7"]
    assert heard(scene.site, scene.other, ELSEWHERE, *forged, POD) == [POD]


def test_nobody_elsewhere_sends_from_it(scene: Scene) -> None:
    assert heard(scene.other, scene.site, HOST, "10.66.0.11", POD, "198.51.100.7", ELSEWHERE) == [ELSEWHERE]


def test_a_host_in_quarantine_speaks_to_nobody(scene: Scene) -> None:
    assert heard(scene.site, scene.other, ELSEWHERE, THIEF, ITS_POD, HOST) == [HOST]
    assert heard(scene.site, scene.other, OPERATOR, THIEF, ITS_POD, HOST) == [HOST], "what it begins itself"


def test_only_operators_reach_a_host_in_quarantine(scene: Scene) -> None:
    for address in (THIEF, ITS_POD):
        assert heard(scene.other, scene.site, address, ELSEWHERE, OPERATOR) == [OPERATOR]


def test_the_kernel_s_own_tunnels_have_the_same_rules(scene: Scene) -> None:
    scene.gateway.run("nft", "--check", "--file", "-", stdin=rules(libipsec=False))
    ends = (f"ip saddr != {BLOCK} ip daddr {BLOCK} accept", f"ip saddr {BLOCK} accept")
    for libipsec in (True, False):
        accepted = [line for line in rules(libipsec=libipsec).splitlines() if "ipsec" in line and "accept" in line]
        assert [line.endswith(end) for line, end in zip(accepted, ends, strict=True)] == [True, True]
