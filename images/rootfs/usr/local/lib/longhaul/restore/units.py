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
"""All that has something of the cluster in its memory, the API server last."""

END_S = 30.0
"""Seconds that an API server gets to end: its shutdown delay of 15, and as many for requests. Without etcd it takes
minutes (one still ran after 240 s): its end waits for a renewal of its lease, five tries of 34 s (Kubernetes 1.36,
component-helpers/apimachinery/lease/controller.go, ``maxUpdateRetries``; apiserver/pkg/endpoints/handlers/rest.go,
``requestTimeoutUpperBound``). A kill loses nothing: it keeps no state, and its own leases run out."""

LIMIT_S = 180.0
"""Time limit in seconds: longer than any of these units may take to stop."""


class StillRunningError(RestoreError):
    """Raised when systemctl is not done in time."""


@dataclass(frozen=True, kw_only=True)
class Units:
    """systemd's units of this machine."""

    program: str = "systemctl"

    def stop(self, *units: str) -> None:
        """Stop units, and return when none of them runs; ``RestoreError`` when one goes on."""
        self._run("stop", *units)

    def end(self, unit: str) -> None:
        """Stop a unit, and kill what has not ended after :data:`END_S`; ``RestoreError`` when it goes on."""
        try:
            self._run("stop", unit, limit_s=END_S)
        except StillRunningError:
            with suppress(RestoreError):  # it has ended meanwhile, or the next line says that it goes on
                self._run("kill", "--signal=SIGKILL", unit)
            self.stop(unit)

    def start(self, *units: str) -> None:
        """Begin to start units."""
        self._run("start", "--no-block", *units)

    def restart(self, unit: str) -> None:
        """Restart a unit."""
        self._run("restart", unit)

    def _run(self, verb: str, *words: str, limit_s: float = LIMIT_S) -> None:
        """Run systemctl; ``RestoreError`` when it refuses or is not done in time: what it began goes on."""
        what = f"systemctl {verb} {' '.join(words)}"
        try:
            done = subprocess.run(
                [self.program, verb, *words], capture_output=True, text=True, timeout=limit_s, check=False
            )
        except subprocess.TimeoutExpired:
            raise StillRunningError(f"{what} did not end within {limit_s:.0f} s") from None
        if done.returncode:
            raise RestoreError(f"{what}: {done.stderr.strip() or 'it gives no reason'}")
