"""Kueue and JobSet as their units start them, beside an API server of a test's own."""

from __future__ import annotations

import fcntl
import http.client
import os
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
import urllib.error
import urllib.request
from pathlib import Path

from components.control_plane import issuing
from components.model.teams.queues import MANAGERS, Manager
from longhaul.toolchain.spec import repository
from tests.support.api_server import ApiServer, eventually

ROOTFS = repository() / "images/rootfs"
LOCK = Path(tempfile.gettempdir()) / "longhaul-queue-managers.lock"
INSIDE = 'mount --bind "$0/etc" /etc && mount --bind "$0/share" /usr/local/share && exec "$@"'
"""Script that gives a program an /etc of its own: Kueue has a path there in its code."""


class QueueManagers:
    """Both programs, each in a mount namespace of its own with the image's files."""

    def __init__(self, folder: Path, server: ApiServer, tools: dict[str, Path]) -> None:
        self._folder, self._server, self._tools = folder, server, tools
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        # Their ports are those of a machine, so one test after the other has them.
        self._held = LOCK.open("w")
        fcntl.flock(self._held, fcntl.LOCK_EX)
        shutil.copytree(ROOTFS / "etc/kueue", folder / "etc/kueue", symlinks=True)
        shutil.copytree(ROOTFS / "usr/local/share", folder / "share", symlinks=True)
        (folder / "etc/longhaul/pki").mkdir(parents=True)
        for manager in MANAGERS:
            self.issue(manager, server.own_authority)

    def issue(self, manager: Manager, authority: issuing.Pair) -> None:
        """Give a program another certificate for its webhooks, as a machine that fetches its secrets does."""
        subject = issuing.Subject(common_name=manager.serving, addresses=["127.0.0.1"], usages=["server"], days=30)
        pair = issuing.issue(subject, authority=authority)
        path = self._folder / f"etc/longhaul/pki/{manager.serving}.pem"
        new = path.with_suffix(".new")
        new.write_text(pair.certificate + pair.key)
        new.replace(path)

    def start(self, manager: Manager) -> None:
        """Start a program with its unit's command."""
        assert not is_ready(manager), f"another {manager.name} has port {manager.health_port}"
        words = command(manager, kubeconfig=self._server.user(manager.user))
        program = [str(self._tools[manager.name]), *words]
        wrapped = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", INSIDE, str(self._folder), *program]
        with self.log(manager).open("ab") as log:
            kept = {name: os.environ[name] for name in ("PATH", "GOGC") if name in os.environ}
            environment = {"HOME": str(self._folder), **kept}
            started = subprocess.Popen(wrapped, env=environment, stdout=log, stderr=log, start_new_session=True)
        self._running[manager.name] = started

    def log(self, manager: Manager) -> Path:
        """Return the file with what a program says."""
        return self._folder / f"{manager.name}.log"

    def stop(self, manager: Manager) -> None:
        """Stop a program, and return when it has ended."""
        process = self._running.pop(manager.name)
        os.killpg(process.pid, signal.SIGTERM)
        process.wait()

    def start_all(self) -> None:
        """Start both, and return when they are ready."""
        for manager in MANAGERS:
            self.start(manager)
            eventually(lambda manager=manager: is_ready(manager), what=f"{manager.name} is ready")

    def close(self) -> None:
        """End all."""
        self._held.close()
        for process in self._running.values():
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def is_ready(manager: Manager) -> bool:
    """Return whether a program says that it is ready."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{manager.health_port}/readyz", timeout=5) as answer:
            return bool(answer.status == 200)
    except (OSError, urllib.error.URLError, http.client.HTTPException):
        return False


def command(manager: Manager, *, kubeconfig: Path) -> list[str]:
    """Return the arguments of a program's unit, with another kubeconfig."""
    unit = (ROOTFS / f"etc/systemd/system/{manager.name}.service").read_text(encoding="utf-8")
    (found,) = re.findall(r"^ExecStart=/usr/local/bin/\w+ ((?:.*\\\n)*.*)$", unit, re.MULTILINE)
    assert manager.kubeconfig in found
    return shlex.split(found.replace("\\\n", " ").replace(manager.kubeconfig, str(kubeconfig)))
