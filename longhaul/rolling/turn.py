"""One roll of a pool at a time, whoever runs it: the holder of a Lease in the cluster."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from longhaul.engine.processes import hostname, namespace, started
from longhaul.exits import CommandError
from longhaul.kubernetes.api import Api
from longhaul.kubernetes.lease import HeldError, Terms, holding

HOLDS_S = 60
"""How long a turn lasts that nobody renews, seconds: so long a run waits after one that was killed."""
RENEW_S = 15.0
"""How often it is renewed, seconds."""


@contextmanager
def turn(api: Api, pool: str) -> Iterator[Callable[[], bool]]:
    """Hold the pool's turn during the block, which is given a way to ask whether it still does. ``CommandError`` when
    somebody else holds it."""
    terms = Terms(lasts_s=HOLDS_S, renew_s=RENEW_S, gone=_ended_here)
    try:
        with holding(api, f"longhaul-roll-{pool}", holder=_identity(os.getpid()), terms=terms) as held:
            yield held
    except HeldError as error:
        if not error.holder:
            raise CommandError(f"somebody else began to roll pool {pool} just now") from None
        host, pid = error.holder.partition("/")[0], error.holder.rpartition("/")[2]
        raise CommandError(
            f"pool {pool} is being rolled by {host}, process {pid}; a run that was killed elsewhere has its turn for "
            f"another {HOLDS_S} s at most"
        ) from None


def _ended_here(holder: str) -> bool:
    """Whether a holder was a process of this machine that is no more."""
    pid = holder.rpartition("/")[2]
    return holder == _identity(pid) and pid.isdigit() and started(int(pid)) is None


def _identity(pid: int | str) -> str:
    """A process among those of the same machine and the same namespace, in which alone its number says anything."""
    return f"{hostname()}/{namespace()}/{pid}"
