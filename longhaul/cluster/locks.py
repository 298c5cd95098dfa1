"""The lock of a pool's rolls, and of what else only one run may do at a time, whoever runs it. Its holder has a Lease
in the cluster."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from components.model.autoscaler.leases import ROLLS
from components.model.nodes.nodes import on_nodes
from contract.kubernetes.api import Api
from contract.kubernetes.lease import HeldError, LeaseTimes, holding
from longhaul.engine.processes import hostname, namespace, started
from longhaul.terminal.exits import CommandError

HOLDS_S = 60
"""Validity of the lease when it is not renewed, seconds: a run waits that long after one that was killed."""
RENEW_S = 15.0
"""Interval between renewals, seconds."""


@dataclass(frozen=True, kw_only=True)
class Words:
    """Words for what runs, in the refusal of a second run."""

    begins: str
    """After "another run began"."""
    goes_on: str
    """Before "by" and who."""


@contextmanager
def pool_lock(api: Api, pool: str) -> Iterator[Callable[[], bool]]:
    """Hold the pool's lease during the block. Yield a function that tells whether it is still held. ``CommandError``
    when somebody else holds it."""
    words = Words(begins=f"to roll pool {pool}", goes_on=f"pool {pool} is being rolled")
    with sole_run(api, f"{ROLLS}{on_nodes(pool)}", words) as is_held:
        yield is_held


@contextmanager
def sole_run(api: Api, lease: str, words: Words) -> Iterator[Callable[[], bool]]:
    """Hold a lease of this name during the block, as :func:`pool_lock` does."""
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
    """Return whether a holder was a process of this machine that has ended."""
    pid = holder.rpartition("/")[2]
    return holder == _identity(pid) and pid.isdigit() and started(int(pid)) is None


def _identity(pid: int | str) -> str:
    """Return the identity of a process: host, PID namespace and number. The number has a meaning only together with the
    others."""
    return f"{hostname()}/{namespace()}/{pid}"
