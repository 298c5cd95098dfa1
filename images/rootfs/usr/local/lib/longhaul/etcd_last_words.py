"""Last words of an etcd member that does not answer: why its process ended, from its journal."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable

UNIT = "etcd.service"
LATELY = "-5min"
"""Time from which its end counts: systemd starts it every few seconds again, so one that goes on failing says so."""

LEVELS = ("fatal", "panic")


def last_words() -> str:
    """Return why the member ended, lately; empty when it did not, or nobody knows."""
    command = ["journalctl", f"--unit={UNIT}", f"--since={LATELY}", "--output=cat", "--no-pager"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return told(done.stdout.splitlines())


def told(lines: Iterable[str]) -> str:
    """Return the newest of etcd's messages with which it gave up: etcd logs one JSON object a line."""
    found = ""
    for line in lines:
        try:
            said = json.loads(line)
        except ValueError:
            continue
        if isinstance(said, dict) and said.get("level") in LEVELS:
            found = ": ".join(str(said[key]) for key in ("msg", "error") if said.get(key))
    return found
