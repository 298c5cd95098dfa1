#!/usr/bin/env python3
"""Kill a kube-apiserver that is hung, so that systemd starts it again.

kube-apiserver tells systemd when it has started and no more, so systemd's own watchdog has nothing to go by. The load
balancer drops a server that hangs, but those connected to it wait: only its end breaks their connections. etcd is left
out of what the server is asked: a restart brings no etcd cluster back, and the server's caches are worth keeping.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable

import api_checks
from node_config import Node

PERIOD_S = 5.0
"""Seconds between two questions."""

MOST_FAILURES = 4
"""Number of unanswered questions in a row after which the server is hung: at 10 s for each, within a minute. kubeadm
waits for eight of 15 s (kubernetes 1.36, cmd/kubeadm/app/util/staticpod/utils.go, ``LivenessProbe``)."""

KILL = ("systemctl", "kill", "--kill-whom=main", "--signal=KILL", "kube-apiserver.service")
"""Not a signal that asks: a process that stands still hears none."""


def await_hung(alive: Callable[[], str], *, sleep: Callable[[float], None] = time.sleep) -> str:
    """Ask until the server is hung. ``alive`` returns why it is not alive, empty when it is. Return the last reason."""
    failures = 0
    while True:
        why = alive()
        failures = failures + 1 if why else 0
        if why:
            print(f"not alive, {failures} of {MOST_FAILURES} times: {why}", file=sys.stderr, flush=True)
        if failures == MOST_FAILURES:
            return why
        sleep(PERIOD_S)


def main() -> int:
    """Return 0 once a hung server was killed."""
    node = Node.read()
    why = await_hung(lambda: api_checks.why_not_alive(node))
    print(f"kube-apiserver is hung and killed: {why}", file=sys.stderr, flush=True)
    subprocess.run(KILL, check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
