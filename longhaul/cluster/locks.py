"""Locks that one run at a time holds, on any machine: for a pool's rolls, and for other operations. A lock is a Lease
in the cluster."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from components.model.autoscaler.leases import ROLLS
from components.model.nodes.labels import on_nodes
from contract.kubernetes.api import Api
from contract.kubernetes.lease import HeldError, LeaseTimes, holding
from longhaul.engine.processes import hostname, namespace, start_ticks
from longhaul.terminal.exits import CommandError

HOLDS_S = 60
"""Seconds until a lease that is not renewed expires: after a killed run, the next run waits that long."""
RENEW_S = 15.0
"""Seconds between renewals."""


@dataclass(frozen=True, kw_only=True)
class Words:
    """Words about the running operation, for the message that refuses a second run."""

    begins: str
    """Text after "another run began"."""
    goes_on: str
    """Text before "by" and the holder."""


@contextmanager
def pool_lock(api: Api, pool: str) -> Iterator[Callable[[], bool]]:
    """Hold the pool's lease during the block. Yield a function that returns whether it is still held. Raise
    ``CommandError`` when another run holds it."""
    words = Words(begins=f"to roll pool {pool}", goes_on=f"pool {pool} is being rolled")
    with sole_run(api, f"{ROLLS}{on_nodes(pool)}", words) as is_held:
        yield is_held


@contextmanager
def sole_run(api: Api, lease: str, words: Words) -> Iterator[Callable[[], bool]]:
    """Hold the lease ``lease`` during the block, like :func:`pool_lock`."""
    times = LeaseTimes(lasts_s=HOLDS_S, renew_s=RENEW_S, gone=_ended_here)
    try:
        with holding(api, lease, holder=_identity(os.getpid()), times=times) as is_held:
            yield is_held
    except HeldError as error:
        if not error.holder:
            raise CommandError(
                f"another run began {words.begins} just now: wait for its end, then run this again"
            ) from None
        host, pid = error.holder.partition("/")[0], error.holder.rpartition("/")[2]
        raise CommandError(
            f"{words.goes_on} by {host}, process {pid}: wait for its end. If that run was killed, its lock ends within "
            f"{HOLDS_S} s"
        ) from None


def _ended_here(holder: str) -> bool:
    """Return whether the holder was a process on this machine that has ended."""
    pid = holder.rpartition("/")[2]
    return holder == _identity(pid) and pid.isdigit() and start_ticks(int(pid)) is None


def _identity(pid: int | str) -> str:
    """Return the identity of a process: host, PID namespace and PID. A PID is unique only together with host and
    namespace."""
    return f"{hostname()}/{namespace()}/{pid}"
