"""Account of the tasks of a playbook, kept from what Ansible's callback writes as they begin and end."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from clouds.base.phrases import counted
from longhaul.terminal.progress import awaited


class Tasks:
    """Account of one run of a playbook."""

    def __init__(self) -> None:
        self._running: dict[str, tuple[str, float]] = {}
        self._done = 0
        self._changed = 0

    def take(self, event: Mapping[str, Any]) -> tuple[str, ...]:
        """Add an event. Nothing is shown because of it: each host's verdict comes in the end."""
        host = str(event["host"])
        if event["state"] == "begins":
            self._running[host] = (f"{host} at {event['task']}", time.monotonic())
        else:
            self._running.pop(host, None)
            self._done += 1
            self._changed += event["state"] == "changed"
        return ()

    def state(self) -> str:
        """Return what is done so far and what is under way."""
        if not self._done and not self._running:
            return "Ansible starts"
        done = f"{counted(self._done, 'task')} done, {counted(self._changed, 'change')}"
        running = dict(self._running.values())
        return f"{done}; {awaited(running)}" if running else done
