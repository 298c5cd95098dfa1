"""A stand-in for Ansible that only records its calls."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.programs import write_program

FAKE = f"""#!{sys.executable}
import json, os, pathlib, signal, sys, time
folder = pathlib.Path(os.environ["FAKE_ENGINE"])
kept = ("ANSIBLE_CONFIG", "KUBECONFIG", "LONGHAUL_ENV", "LONGHAUL_PROJECT", "LONGHAUL_SSH_IMPATIENT")
note = {{"words": sys.argv[1:], **{{name: os.environ.get(name) for name in kept}}}}
(folder / "ansible").write_text(json.dumps(note))
with (folder / "ansible-all").open("a") as all:
    all.write(json.dumps(sys.argv[1:]) + "\\n")
print("a task")
print("a warning", file=sys.stderr)
if (folder / "ansible-waits").exists():
    caught = []
    signal.signal(signal.SIGINT, lambda number, frame: caught.append(number))
    (folder / "ansible-waiting").write_text(str(os.getpid()))
    while not caught:  # a signal between the look and a pause() would be slept through
        time.sleep(0.02)
    (folder / "ansible-caught").write_text(str(len(caught)))
    sys.exit(99)
hosts = folder / "ansible-hosts"
if hosts.exists():
    known = json.loads(hosts.read_text())
    words = sys.argv[1:]
    names = words[words.index("--limit") + 1].split(",") if "--limit" in words else list(known)
    seen = {{name: known[name] for name in names if known[name]}}
    tasks = {{"node : wait": {{"hosts": len(names), "seconds": 2.5, "slowest": 1.5}}}}
    note = {{"finished": True, "seconds": 1.0, "failed": None, "hosts": seen, "tasks": tasks}}
    pathlib.Path(os.environ["LONGHAUL_VERDICTS"]).write_text(json.dumps(note))
    states = [host["state"] for host in seen.values()]
    sys.exit(4 if "unreachable" in states else 2 if "failed" in states or None in known.values() else 0)
failing = folder / "ansible-fails"
sys.exit(2 if failing.exists() and sys.argv[-1].endswith(failing.read_text()) else 0)
"""


@dataclass(frozen=True, kw_only=True)
class FakeAnsible:
    folder: Path

    def told(self) -> dict[str, Any]:
        return dict(json.loads((self.folder / "ansible").read_text()))

    def all_words(self) -> list[list[str]]:
        """Return the arguments of every run, in order."""
        path = self.folder / "ansible-all"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def finds(self, **hosts: dict[str, Any] | None) -> None:
        """Set the result of each host, with underscores for hyphens; None for a host without any result."""
        fine = {"changed": 0, "seconds": 1.0, "failed": None}
        known = {name.replace("_", "-"): host and {**fine, **host} for name, host in hosts.items()}
        (self.folder / "ansible-hosts").write_text(json.dumps(known))

    def fails(self, playbook: str = "site.yml") -> None:
        (self.folder / "ansible-fails").write_text(playbook)

    def waits(self) -> None:
        (self.folder / "ansible-waits").touch()


def install(folder: Path) -> Path:
    """Install the program into a folder, where it also leaves its records."""
    return write_program(folder / "ansible-playbook", FAKE)
