"""Units that a restore stops and starts."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass

from restore.record import RestoreError

MEMBER = ("longhaul-backup.timer", "longhaul-backup.service", "etcd.service")
SERVER = (
    "kube-controller-manager.service",
    "kube-scheduler.service",
    "longhaul-node-controller.service",
    "longhaul-join.service",
    "kube-apiserver.service",
)
"""All that has something of the cluster in its memory, the API server last."""

LIMIT_S = 180.0
"""Time limit in seconds: longer than any of these units may take to stop."""


@dataclass(frozen=True, kw_only=True)
class Units:
    """systemd's units of this machine."""

    program: str = "systemctl"

    def stop(self, *units: str) -> None:
        """Stop units, and return when none of them runs; ``RestoreError`` when one goes on."""
        self._run("stop", *units)

    def start(self, *units: str) -> None:
        """Begin to start units."""
        self._run("start", "--no-block", *units)

    def restart(self, unit: str) -> None:
        """Restart a unit."""
        self._run("restart", unit)

    def _run(self, verb: str, *words: str) -> None:
        try:
            done = subprocess.run(
                [self.program, verb, *words], capture_output=True, text=True, timeout=LIMIT_S, check=False
            )
        except subprocess.TimeoutExpired:
            raise RestoreError(f"systemctl {verb} {' '.join(words)} did not end within {LIMIT_S:.0f} s") from None
        if done.returncode:
            raise RestoreError(f"systemctl {verb} {' '.join(words)}: {done.stderr.strip() or 'it gives no reason'}")
