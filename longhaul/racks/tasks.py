"""Progress of a playbook's tasks, from events that Ansible's callback writes."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from clouds.base.phrases import counted
from longhaul.terminal.progress import awaited


class Tasks:
    """Progress of one run of a playbook."""

    def __init__(self) -> None:
        self._running: dict[str, tuple[str, float]] = {}
        self._done = 0
        self._changed = 0

    def take(self, event: Mapping[str, Any]) -> tuple[str, ...]:
        """Add an event. It shows no lines: each host's verdict comes at the end."""
        host = str(event["host"])
        if event["state"] == "begins":
            self._running[host] = (f"{host} at {event['task']}", time.monotonic())
        else:
            self._running.pop(host, None)
            self._done += 1
            self._changed += event["state"] == "changed"
        return ()

    def state(self) -> str:
        """Return as text how many tasks are done and what is under way."""
        if not self._done and not self._running:
            return "Ansible starts"
        done = f"{counted(self._done, 'task')} done, {counted(self._changed, 'change')}"
        running = dict(self._running.values())
        return f"{done}; {awaited(running)}" if running else done
