"""Faults of the links to a site of hosts: cut links, a killed gateway daemon, keys renewed under traffic."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from components.model import plan
from components.model.hosts.places import gateway_places
from lab.drill.drill import Drill
from lab.drill.environment import DrillEnvironment
from lab.drill.faults.services import kill
from lab.drill.link_traffic import link_traffic
from lab.state import LabError

IPSEC = "strongswan.service"


@contextmanager
def links_cut(environment: DrillEnvironment) -> Iterator[str]:
    """Drop packets between the site's gateway and the other sites."""
    gateway = _gateway(environment)
    environment.tunnel(gateway, "cut")
    try:
        yield gateway
    finally:
        environment.tunnel(gateway, "restore")


@contextmanager
def gateway_killed(environment: DrillEnvironment) -> Iterator[str]:
    """Kill the gateway's IPsec daemon, which notifies no peer; systemd restarts it."""
    gateway = _gateway(environment)
    kill(environment, gateway, IPSEC)
    yield gateway


@contextmanager
def keys_renewed(environment: DrillEnvironment) -> Iterator[str]:
    """Renew the keys of all tunnels of the gateway, those of their data first."""
    gateway = _gateway(environment)
    connections = environment.output(gateway, "swanctl", "--list-conns", "--raw")
    tunnels = sorted(_tunnels(connections))
    if not tunnels:
        raise LabError(f"{gateway} has no tunnel whose keys could be renewed: {connections}")
    for kind in ("--child", "--ike"):
        for tunnel in tunnels:
            environment.output(gateway, "swanctl", "--rekey", kind, tunnel)
    yield f"{gateway}, {len(tunnels)} tunnels"


def _tunnels(raw: str) -> set[str]:
    """Return the names of the connections in the raw output of ``swanctl --list-conns``."""
    return {line.split("{")[1].strip() for line in raw.splitlines() if line.startswith("list-conn event {")}


def _gateway(environment: DrillEnvironment) -> str:
    declared = environment.environment
    gateway = next(iter(gateway_places(declared, plan(declared))), None)
    if gateway is None:
        raise LabError(f"{declared.name} has no gateway of its own: this drill needs a site with one")
    return f"{declared.name}-{gateway.name}"


def _cut(name: str, summary: str, *, lasts_s: float, long: bool = False) -> Drill:
    return Drill(
        name=name,
        summary=summary,
        goal_s=1.0,
        fault=links_cut,
        lasts_s=lasts_s,
        observing=link_traffic(lasts_s=lasts_s),
        long=long,
    )


DRILLS: tuple[Drill, ...] = (
    _cut("site-cut-off", "a site of hosts is cut off for 30 s", lasts_s=30.0),
    _cut("site-cut-off-5-min", "a site of hosts is cut off for 5 minutes", lasts_s=300.0),
    _cut("site-cut-off-20-min", "a site of hosts is cut off for 20 minutes", lasts_s=1200.0, long=True),
    Drill(
        name="gateway-killed",
        summary="kill -9 of a gateway's IPsec daemon",
        goal_s=1.0,
        fault=gateway_killed,
        observing=link_traffic(lasts_s=0.0),
    ),
    Drill(
        name="tunnels-rekeyed",
        summary="the keys of a gateway's tunnels are renewed under traffic",
        goal_s=1.0,
        fault=keys_renewed,
        observing=link_traffic(lasts_s=0.0, within_s=1.0),
    ),
)
