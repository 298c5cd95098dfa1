"""One machine for a test: a system in a folder, booted by systemd-nspawn without a network of the host's, and playbooks
that run on it. Everything of it ends with its block."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from lab.cgroups import ControlGroup
from lab.hypervisor.nspawn import inside, leader_among
from longhaul.toolchain.spec import repository

LIMIT_S = 300.0
"""Time limit of everything here in seconds, enough for a busy machine."""
NAME = "test-machine"
_CONNECTIONS = Path(__file__).with_name("ansible_connections")

# Its own namespaces, whose end ends everything in them. /run is for the files that systemd-nspawn leaves there.
_LAUNCH = """set -eu
while [ "$1" != -- ]; do echo 0 > "$1"; shift; done; shift
exec unshare --mount --propagation=private --pid --fork --kill-child --mount-proc -- /bin/sh -ec '
  mount -t tmpfs tmpfs /run; exec "$@"' boot "$@"
"""


@dataclass(frozen=True, kw_only=True)
class NspawnMachine:
    """A machine that runs."""

    leader: int
    """Pid of its process 1, as this process sees it."""
    folder: Path
    """Folder for logs."""

    def run(self, script: str, *, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run a script with sh, as root inside."""
        argv = inside(self.leader, ["/bin/sh", "-c", script])
        done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=LIMIT_S)
        assert done.returncode == 0 or not check, f"{script}\n{done.stdout}{done.stderr}"
        return done

    def await_(self, script: str, *, what: str) -> None:
        """Wait until the script succeeds."""
        eventually(lambda: self.run(script, check=False).returncode == 0, what=what)

    def play(self, playbook: Path, *words: str, **variables: object) -> dict[str, int]:
        """Run a playbook, and return Ansible's own count of tasks: ``ok``, ``changed``, ``failed``. Its output is in
        :attr:`last_log`."""
        given = {"ansible_connection": "nspawn", "ansible_leader": self.leader, "ansible_become": False, **variables}
        argv = [str(Path(sys.executable).with_name("ansible-playbook")), "--inventory", f"{NAME},", *words]
        argv += ["--extra-vars", json.dumps(given), str(playbook)]
        done = subprocess.run(
            argv, env=self._environment(), capture_output=True, text=True, check=False, timeout=LIMIT_S
        )
        self.last_log.write_text(done.stdout + done.stderr, encoding="utf-8")
        recap = re.search(rf"^{NAME} +: (.*)$", done.stdout, flags=re.MULTILINE)
        assert recap is not None, done.stdout + done.stderr
        return {key: int(value) for key, value in re.findall(r"(\w+)=(\d+)", recap[1])}

    @property
    def last_log(self) -> Path:
        """File with the output of the last play."""
        return self.folder / "ansible.log"

    def _environment(self) -> Mapping[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "TMPDIR": str(self.folder),
            "PYTHONPATH": str(repository()),
            "ANSIBLE_CONFIG": str(repository() / "playbooks" / "ansible.cfg"),
            "ANSIBLE_CONNECTION_PLUGINS": str(_CONNECTIONS),
            "ANSIBLE_ROLES_PATH": str(repository() / "playbooks" / "roles"),
            "ANSIBLE_FILTER_PLUGINS": str(repository() / "playbooks" / "filter_plugins"),
            "ANSIBLE_LOOKUP_PLUGINS": str(repository() / "playbooks" / "lookup_plugins"),
            "ANSIBLE_NOCOLOR": "1",
            "LC_ALL": "C.UTF-8",
            "no_proxy": "*",
        }


def eventually(look: Callable[[], bool], *, what: str) -> None:
    """Wait until ``look`` returns true."""
    deadline = time.monotonic() + LIMIT_S
    while not look():
        assert time.monotonic() < deadline, f"not within {LIMIT_S:g} s: {what}"
        time.sleep(0.1)


@contextmanager
def booted(root: Path, folder: Path, *, binds: Mapping[Path, str] | None = None) -> Iterator[NspawnMachine]:
    """Boot the system in ``root``, which is written to, as a machine; needs root. ``binds``: folders that it may read,
    and their places in it."""
    above = ControlGroup(f"longhaul-test-{os.getpid()}")
    # The machine's group is one below: under version 2, a group with groups inside holds no process itself.
    group = ControlGroup(f"{above.path}/machine")
    group.create()
    argv = ["systemd-nspawn", "--quiet", "--settings=no", f"--directory={root}", f"--machine={NAME}"]
    argv += ["--private-network", "--register=no", "--keep-unit", "--console=pipe", "--link-journal=no"]
    argv += ["--resolv-conf=off", "--timezone=off", "--capability=all", "--system-call-filter=@keyring bpf", "--boot"]
    argv += [f"--bind-ro={near}:{far}" for near, far in (binds or {}).items()]
    launch = ["/bin/sh", "-c", _LAUNCH, "launch", *group.procs_files(), "--", *argv]
    with (folder / "console.log").open("wb") as console:
        process = subprocess.Popen(launch, stdin=subprocess.DEVNULL, stdout=console, stderr=console)
    try:
        yield NspawnMachine(leader=_leader(group, process, folder), folder=folder)
    finally:
        above.kill(signal.SIGKILL)
        process.wait(LIMIT_S)
        above.remove()


def _leader(group: ControlGroup, process: subprocess.Popen[bytes], folder: Path) -> int:
    """Return the pid of its process 1, once systemd answers there."""

    def found() -> int | None:
        assert process.poll() is None, (folder / "console.log").read_text(errors="replace")
        return leader_among(group.members())

    eventually(lambda: found() is not None, what="the machine has a process 1")
    leader = found()
    assert leader is not None
    asked = inside(leader, ["systemctl", "is-system-running", "--wait"])
    eventually(
        lambda: (
            subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip() in ("running", "degraded")
        ),
        what="systemd has started what there is",
    )
    return leader
