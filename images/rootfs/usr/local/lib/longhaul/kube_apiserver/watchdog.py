"""Kill a kube-apiserver that is hung, so that systemd starts it again.

kube-apiserver tells systemd only that it has started, so systemd's own watchdog cannot judge it. The load balancer
drops a hung server, but clients with open connections to the server wait until it ends. Any answer shows that the
server is not hung, even a refusal or a failed check: a restart would not repair these, and would lose the server's
caches. After a kill, the watchdog pauses for a while: if all servers are busy, each kill would move load to the others.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from contract.documents.node import NodeConfig
from contract.units import KUBE_APISERVER
from kube_apiserver import checks as api_checks

PERIOD_S = 5.0
"""Seconds between two requests."""

MOST_FAILURES = 8
"""Number of consecutive requests without an answer after which the server counts as hung, as in kubeadm's liveness
probe. With 15 s for each request, that takes less than three minutes."""

KILLED = Path("/run/kube-apiserver-watchdog/killed")
"""File whose time is the time of the last kill."""

APART_S = 900.0
"""Shortest time between two kills, seconds."""

KILL = ("systemctl", "kill", "--kill-whom=main", "--signal=KILL", KUBE_APISERVER)
"""Command that kills kube-apiserver. The signal is SIGKILL, because a hung process does not react to other signals."""


def await_hung(silent: Callable[[], str], *, sleep: Callable[[float], None] = time.sleep) -> str:
    """Send requests until the server counts as hung, and return the last reason. ``silent`` returns the reason why the
    server counts as silent, or an empty text if it answers."""
    failures = 0
    while True:
        why = silent()
        failures = failures + 1 if why else 0
        if why:
            print(
                f"kube-apiserver did not answer, {failures} of {MOST_FAILURES} times: {why}",
                file=sys.stderr,
                flush=True,
            )
        if failures == MOST_FAILURES:
            return why
        sleep(PERIOD_S)


def spared_s(killed: Path, now: float) -> float:
    """Return the remaining seconds of the watchdog's pause after the last kill."""
    try:
        return max(0.0, min(APART_S, killed.stat().st_mtime + APART_S - now))
    except FileNotFoundError:
        return 0.0


def main() -> int:
    """Return 0 once a hung server is killed."""
    node = NodeConfig.read()
    if spared := spared_s(KILLED, time.time()):
        print(f"kube-apiserver was killed because it hung; the watchdog pauses for {spared:.0f} s", flush=True)
        time.sleep(spared)
    why = await_hung(lambda: api_checks.why_silent(node))
    print(f"kube-apiserver is hung and killed: {why}", file=sys.stderr, flush=True)
    KILLED.touch()
    subprocess.run(KILL, check=True)
    return 0
