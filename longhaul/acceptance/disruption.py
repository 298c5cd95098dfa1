"""A disruptive check: the cloud restarts an etcd machine and an API server while calls to the API continue."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event, Thread

from clouds.registry import cloud_of
from components.model import Environment
from components.model.sites.places import place_of
from contract.kubernetes.api import Api
from contract.kubernetes.connection import ApiError
from contract.object_names import SYSTEM_NAMESPACE
from longhaul.acceptance.check import NotApplicableError, NotSoError
from longhaul.acceptance.cluster import await_healthy
from longhaul.acceptance.target import AcceptanceTarget
from longhaul.acceptance.time_limit import Clock

GAP_S = 60.0
"""Longest allowed time without an answer from the API, seconds. The load balancer's probe needs about ten seconds to
notice a lost server (components/azure/load_balancer.py). A call that was sent to the server before then waits until the
call's own time limit."""
BETWEEN_S = 0.5
"""Pause between two calls, seconds."""
BOOT = "cat /proc/sys/kernel/random/boot_id"
"""Command that prints the identifier of a machine's current boot (random(4))."""
NAMESPACE = f"/api/v1/namespaces/{SYSTEM_NAMESPACE}"
"""Object that is read, through an API server, from etcd."""
LEAST_MEMBERS = 3
LEAST_SERVERS = 2
"""Smallest numbers of etcd members and API servers with which the API survives a restart."""


@dataclass(kw_only=True)
class Calls:
    """Statistics of the calls that were made."""

    made: int = 0
    failed: int = 0
    longest_s: float = 0.0
    """The longest time without an answer, seconds."""
    clock: Clock = time.monotonic

    def __post_init__(self) -> None:
        self._last = self.clock()

    def note(self, *, answered: bool) -> None:
        """Count one call."""
        now = self.clock()
        self.made += 1
        self.failed += not answered
        self.longest_s = max(self.longest_s, now - self._last)
        if answered:
            self._last = now


def restarts(target: AcceptanceTarget) -> str:
    """Restart one etcd machine, then one API server, and wait after each restart until everything is healthy."""
    environment = target.environment
    control = environment.control_plane
    if control.etcd.members < LEAST_MEMBERS or control.api.servers < LEAST_SERVERS:
        raise NotApplicableError(
            f"{control.etcd.members} members and {control.api.servers} API servers: with fewer than {LEAST_MEMBERS} "
            f"and {LEAST_SERVERS} the API does not survive a restart"
        )
    outages = []
    for machine in (f"{environment.name}-etcd-0", f"{environment.name}-api-0"):
        with calling(target.api("")) as calls:
            restart(environment, machine)
            await_healthy(target, target.condition_deadline())
        outages.append(
            f"{machine}: {calls.made} calls, {calls.failed} failed, {calls.longest_s:.1f} s without an answer"
        )
        if calls.longest_s > GAP_S:
            raise NotSoError(f"{outages[-1]}, more than {GAP_S:.0f} s")
    return "; ".join(outages)


def restart(environment: Environment, machine: str) -> None:
    """Have the cloud restart a machine, and return once the machine has booted again. Raise ``NotSoError`` when it has
    not."""
    place = place_of(environment, environment.control_plane.site)
    control = cloud_of(place.site).control
    if control is None:
        raise NotApplicableError(f"the control plane is on {place.site.kind}, where it is not restarted yet")
    before = control.run_command(place, machine, BOOT).stdout
    control.restart(place, machine)
    if not before or control.run_command(place, machine, BOOT).stdout == before:
        raise NotSoError(f"{machine} was restarted by its cloud, but it still runs the same boot")


@contextmanager
def calling(api: Api) -> Iterator[Calls]:
    """Call the API in a thread until the end of the block."""
    calls, over = Calls(), Event()

    def go_on() -> None:
        while not over.is_set():
            try:
                api.get(NAMESPACE)
                calls.note(answered=True)
            except ApiError:
                calls.note(answered=False)
            over.wait(BETWEEN_S)

    thread = Thread(target=go_on, daemon=True)
    thread.start()
    try:
        yield calls
    finally:
        over.set()
        thread.join()
