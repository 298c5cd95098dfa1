"""Reason for which an etcd member that does not answer ended, or could not start, from its journal."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable

from contract.units import ETCD

LATELY = "-5min"
"""Period in which an end counts: systemd restarts a failing member every few seconds, so its messages are recent."""

LEVELS = ("fatal", "panic")

REFUSED = " does not start: "
"""Words between the machine's name and the reason in the message of a member that may not start (etcd/join.py)."""


def exit_reason() -> str:
    """Return why the member recently ended or could not start; empty when neither happened, or the reason is
    unknown."""
    command = ["journalctl", f"--unit={ETCD}", f"--since={LATELY}", "--output=cat", "--no-pager"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return newest_exit_message(done.stdout.splitlines())


def newest_exit_message(lines: Iterable[str]) -> str:
    """Return the newest message with which it gave up: etcd logs one JSON object a line. Once etcd itself has logged
    something, it was started."""
    ended = refused = ""
    for line in lines:
        _, apart, why = line.partition(REFUSED)
        if apart:
            refused = f"it does not start: {why}"
            continue
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        if isinstance(entry, dict):
            refused = ""
            if entry.get("level") in LEVELS:
                ended = "it ended: " + ": ".join(str(entry[key]) for key in ("msg", "error") if entry.get(key))
    return refused or ended
