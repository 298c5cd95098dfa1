"""Units that a restore stops and starts."""

from __future__ import annotations

import subprocess
from contextlib import suppress
from dataclasses import dataclass

from contract.units import ETCD, KUBE_APISERVER
from restore.record import RestoreError

MEMBER = ("longhaul-backup.timer", "longhaul-backup.service", ETCD)
CLIENTS = (
    "kube-controller-manager.service",
    "kube-node-signer.service",
    "kube-scheduler.service",
    "longhaul-node-controller.service",
    "longhaul-autoscaler.service",
    "longhaul-join.service",
    "kueue.service",
    "jobset.service",
)
SERVER = (*CLIENTS, KUBE_APISERVER)
"""All units that keep something of the cluster in memory, the API server last."""

END_S = 30.0
"""Seconds that an API server gets to end: its shutdown delay of 15, and the same again for requests. Without etcd it
takes minutes (one still ran after 240 s), because it tries to renew its lease five times, 34 s each (Kubernetes 1.36,
component-helpers/apimachinery/lease/controller.go, ``maxUpdateRetries``; apiserver/pkg/endpoints/handlers/rest.go,
``requestTimeoutUpperBound``). A kill loses nothing: it keeps no state, and its own leases expire."""

LIMIT_S = 180.0
"""Time limit in seconds: longer than any of these units may take to stop."""


class StillRunningError(RestoreError):
    """Raised when systemctl does not finish in time."""


@dataclass(frozen=True, kw_only=True)
class Units:
    """systemd's units of this machine."""

    program: str = "systemctl"

    def stop(self, *units: str) -> None:
        """Stop units, and return when none of them runs; raise ``RestoreError`` when one still runs."""
        self._run("stop", *units)

    def end(self, unit: str) -> None:
        """Stop a unit, and kill processes that have not ended after :data:`END_S`; raise ``RestoreError`` when it still
        runs."""
        try:
            self._run("stop", unit, limit_s=END_S)
        except StillRunningError:
            with suppress(RestoreError):  # it has ended meanwhile, or the next line reports that it still runs
                self._run("kill", "--signal=SIGKILL", unit)
            self.stop(unit)

    def start(self, *units: str) -> None:
        """Begin to start units."""
        self._run("start", "--no-block", *units)

    def restart(self, unit: str) -> None:
        """Restart a unit."""
        self._run("restart", unit)

    def _run(self, verb: str, *words: str, limit_s: float = LIMIT_S) -> None:
        """Run systemctl; raise ``RestoreError`` when it refuses or does not finish in time: the job that it started
        goes on."""
        what = f"systemctl {verb} {' '.join(words)}"
        try:
            done = subprocess.run(
                [self.program, verb, *words], capture_output=True, text=True, timeout=limit_s, check=False
            )
        except subprocess.TimeoutExpired:
            raise StillRunningError(f"{what} did not end within {limit_s:.0f} s") from None
        if done.returncode:
            raise RestoreError(f"{what}: {done.stderr.strip() or 'it gives no reason'}")
