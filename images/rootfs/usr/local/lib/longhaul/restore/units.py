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
    "longhaul-accountant.service",
)
SERVER = (*CLIENTS, KUBE_APISERVER)
"""All units that keep the cluster's content in memory, the API server last."""

END_S = 30.0
"""Longest time in seconds for an API server to end before it is killed: its shutdown delay of 15 s, and 15 s for
requests. Without etcd, an API server takes minutes to end (240 s were observed), because it tries to renew its lease
five times, 34 s each (Kubernetes 1.36, component-helpers/apimachinery/lease/controller.go, ``maxUpdateRetries``;
apiserver/pkg/endpoints/handlers/rest.go, ``requestTimeoutUpperBound``). A kill loses nothing, because an API server
keeps no state and its leases expire."""

LIMIT_S = 180.0
"""Longest duration of a command in seconds, which is longer than any of these units may take to stop."""


class StillRunningError(RestoreError):
    """Raised if systemctl does not finish in time."""


@dataclass(frozen=True, kw_only=True)
class Units:
    """systemd's units of this machine."""

    program: str = "systemctl"

    def stop(self, *units: str) -> None:
        """Stop units, and wait until none of them runs. Raise ``RestoreError`` if one still runs."""
        self._run("stop", *units)

    def end(self, unit: str) -> None:
        """Stop a unit, and kill its processes after :data:`END_S`. Raise ``RestoreError`` if the unit still runs."""
        try:
            self._run("stop", unit, limit_s=END_S)
        except StillRunningError:
            with suppress(RestoreError):  # it has ended meanwhile, or the next line reports that it still runs
                self._run("kill", "--signal=SIGKILL", unit)
            self.stop(unit)

    def start(self, *units: str) -> None:
        """Start units, without waiting for them."""
        self._run("start", "--no-block", *units)

    def restart(self, unit: str) -> None:
        """Restart a unit."""
        self._run("restart", unit)

    def _run(self, verb: str, *words: str, limit_s: float = LIMIT_S) -> None:
        """Run systemctl. Raise ``RestoreError`` if it refuses or does not finish in time. A job that it has started
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
