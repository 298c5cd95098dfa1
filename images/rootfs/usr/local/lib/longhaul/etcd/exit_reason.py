"""Reason, from the journal, why an etcd member that does not answer has ended or could not start."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable

from contract.units import ETCD

LATELY = "-5min"
"""Period of the journal that is read. systemd restarts a failing member every few seconds, so its messages are
recent."""

LEVELS = ("fatal", "panic")

REFUSED = " does not start: "
"""Words between the machine's name and the reason in the message of etcd/join.py about a member that may not start."""


def exit_reason() -> str:
    """Return the reason why the member recently ended or could not start; empty if neither happened, or if the reason
    is unknown."""
    command = ["journalctl", f"--unit={ETCD}", f"--since={LATELY}", "--output=cat", "--no-pager"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return newest_exit_message(done.stdout.splitlines())


def newest_exit_message(lines: Iterable[str]) -> str:
    """Return the newest message about an end or a refused start. etcd logs one JSON object per line. A line of etcd
    after a refusal shows that etcd was started after all, so the refusal no longer counts."""
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
