"""Faults of the load balancer in front of the API servers. The lab's load balancer replaces the cloud's service: it
consists of rules in the router of the control plane's network, and a translation table."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from components.model import plan
from components.model.network.api_address import api_address
from lab.drill.drill import Drill
from lab.drill.environment import DrillEnvironment
from lab.hypervisor.networks import router_of
from lab.state import LabError, running_init
from lab.tenants import host_of

TABLE = "ip longhaul-drill"


@contextmanager
def balancer_killed(environment: DrillEnvironment) -> Iterator[str]:
    """Make the load balancer's address answer nothing."""
    frontend = api_address(environment.environment, plan(environment.environment))
    chain = f"{TABLE} frontend {{ type filter hook prerouting priority -300; }}"
    rules = f"add table {TABLE}; add chain {chain}; add rule {TABLE} frontend ip daddr {frontend} drop"
    _in_router(environment, rules)
    try:
        yield f"the load balancer at {frontend}"
    finally:
        _in_router(environment, f"delete table {TABLE}")


def _in_router(environment: DrillEnvironment, rules: str) -> None:
    state = host_of(environment.project.state)
    machines = environment.lab_status()["machines"]
    server = environment.machines("api")[0]
    network = next(machine["network"] for machine in machines if machine["name"] == server)
    init = running_init(state)
    if init is None:
        raise LabError(f"the lab of {state.env} does not run")
    place = f"/proc/{init.pid}/root{router_of(network).path}"
    done = subprocess.run(["nsenter", f"--net={place}", "nft", rules], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise LabError(f"the router: nft {rules}: {done.stderr.strip()}")


DRILLS: tuple[Drill, ...] = (
    Drill(
        name="balancer-killed",
        summary="the load balancer before the API servers answers nobody",
        goal_s=15.0,
        fault=balancer_killed,
        lasts_s=10.0,
        calm_s=5.0,
    ),
)
