"""Kill a kube-apiserver that is hung, so that systemd starts it again.

kube-apiserver tells systemd when it has started and no more, so systemd's own watchdog has nothing to go by. The load
balancer drops a server that hangs, but those connected to it wait: only its end breaks their connections. Any answer
will do, even a refusal or a failed check: a restart mends none, and the caches of a server that serves are worth
keeping. One that was killed is left alone for a while: if all are busy, each kill would move its load to the others.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from machine.config import NodeConfig

from contract.units import KUBE_APISERVER
from kube_apiserver import checks as api_checks

PERIOD_S = 5.0
"""Seconds between two questions."""

MOST_FAILURES = 8
"""Number of unanswered questions in a row after which the server is hung, as in kubeadm's liveness probe: at 15 s for
each, within three minutes."""

KILLED = Path("/run/kube-apiserver-watchdog/killed")
"""File that was written when a server was killed last."""

APART_S = 900.0
"""Least time between two kills, seconds."""

KILL = ("systemctl", "kill", "--kill-whom=main", "--signal=KILL", KUBE_APISERVER)
"""Not a signal that asks: a process that stands still hears none."""


def await_hung(silent: Callable[[], str], *, sleep: Callable[[float], None] = time.sleep) -> str:
    """Ask until the server is hung. ``silent`` returns why it counts as silent, empty when it answers. Return the last
    reason."""
    failures = 0
    while True:
        why = silent()
        failures = failures + 1 if why else 0
        if why:
            print(f"silent, {failures} of {MOST_FAILURES} times: {why}", file=sys.stderr, flush=True)
        if failures == MOST_FAILURES:
            return why
        sleep(PERIOD_S)


def spared_s(killed: Path, now: float) -> float:
    """Return the seconds for which a server is still spared after the last kill."""
    try:
        return max(0.0, min(APART_S, killed.stat().st_mtime + APART_S - now))
    except FileNotFoundError:
        return 0.0


def main() -> int:
    """Return 0 once a hung server was killed."""
    node = NodeConfig.read()
    if spared := spared_s(KILLED, time.time()):
        print(f"kube-apiserver was hung and killed, and is left alone for {spared:.0f} s", flush=True)
        time.sleep(spared)
    why = await_hung(lambda: api_checks.why_silent(node))
    print(f"kube-apiserver is hung and killed: {why}", file=sys.stderr, flush=True)
    KILLED.touch()
    subprocess.run(KILL, check=True)
    return 0
