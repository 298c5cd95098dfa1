"""Write the result of each host and the duration of each task as one JSON document.

The plugin does nothing unless LONGHAUL_VERDICTS names a file. The document:

    finished   whether every play ran to its end
    seconds    duration of the run
    failed     a task that failed once for all hosts, as below, or null
    hosts      by name: state, changed, seconds, failed (or null), and hold_reasons, a list
    tasks      by name, with its role: hosts, seconds of all of them together, slowest (longest time on one host)

A host's state is "ok", "changed", "failed" or "unreachable", "unfinished" if the run ended before the host had done its
part, or "held" if the host was left unchanged for its hold_reasons (role node, hold.yml). A failure has the keys task,
role (or null) and messages, a list. Output that a task hides (no_log) is not quoted.

If LONGHAUL_TASKS names a file, the plugin writes a line of JSON to it whenever a host begins or ends a task: host,
task, and state, which is "begins", "ok", "changed", "failed" or "unreachable".
"""

from __future__ import annotations

import atexit
import json
import os
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ansible.plugins.callback import CallbackBase

DOCUMENTATION = """
name: verdicts
type: aggregate
short_description: writes a verdict for each host as JSON
description: Writes what became of each host, and how long each task took, as one JSON document.
options:
  path:
    description: the file to write; nothing is done without one
    type: str
    env:
      - name: LONGHAUL_VERDICTS
  events:
    description: a file for a line of JSON whenever a host begins or ends a task
    type: str
    env:
      - name: LONGHAUL_TASKS
"""

LINES = 10
"""Number of lines quoted from the end of a command's error output."""
HELD = "node_held"
"""Name of the fact with the reasons why a host is left unchanged."""
HIDDEN = "what it said may hold a secret and is left out; Ansible's own lines may say more"


class CallbackModule(CallbackBase):
    """Entry point of the plugin. Ansible loads every callback in a folder beside a playbook, unless the callback must
    be enabled by name."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "verdicts"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._record = RunRecord()
        self._path: Path | None = None
        self._events: Path | None = None

    def set_options(self, task_keys: Any = None, var_options: Any = None, direct: Any = None) -> None:
        super().set_options(task_keys=task_keys, var_options=var_options, direct=direct)
        path = self.get_option("path")
        self.disabled = not path
        if path and self._path is None:
            self._path = Path(path)
            self._events = Path(events) if (events := self.get_option("events")) else None
            # An interrupted run sends no statistics, but its process ends in the normal way.
            atexit.register(self._write, os.getpid())

    def v2_playbook_on_start(self, playbook: Any) -> None:
        self._record.expect(len(playbook.get_plays()))

    def v2_playbook_on_play_start(self, play: Any) -> None:  # noqa: ARG002 - Ansible gives it
        self._record.expect(-1)

    def v2_runner_on_start(self, host: Any, task: Any) -> None:
        self._record.begin(host.get_name(), task.get_name())
        self._tell(host, task, "begins")

    def v2_runner_on_ok(self, result: Any) -> None:
        self._record.end(result, changed=result.is_changed())
        self._tell(result.host, result.task, "changed" if result.is_changed() else "ok")

    def v2_runner_on_skipped(self, result: Any) -> None:
        self._record.end(result)
        self._tell(result.host, result.task, "ok")

    def v2_runner_on_failed(self, result: Any, ignore_errors: bool = False) -> None:
        self._record.end(result)
        self._tell(result.host, result.task, "ok" if ignore_errors else "failed")
        if not ignore_errors:
            self._record.fail(result, "failed")

    def v2_runner_on_unreachable(self, result: Any) -> None:
        self._record.end(result)
        self._tell(result.host, result.task, "unreachable")
        if not result.task.ignore_unreachable:
            self._record.fail(result, "unreachable")

    def v2_playbook_on_stats(self, stats: Any) -> None:
        self._record.settle(stats.failures)
        self._write(os.getpid())

    def _tell(self, host: Any, task: Any, state: str) -> None:
        """Write one event at once, for programs that follow the file."""
        if self._events is not None:
            with self._events.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"host": host.get_name(), "task": task.get_name(), "state": state}) + "\n")

    def _write(self, process: int) -> None:
        """Replace the document in one step. Do nothing in a worker process, which is a copy of this process."""
        if self._path is not None and process == os.getpid():
            temporary = self._path.with_name(f".{self._path.name}.{process}")
            temporary.write_text(json.dumps(self._record.document(), indent=1) + "\n", encoding="utf-8")
            temporary.replace(self._path)


class RunRecord:
    """Record of a run."""

    def __init__(self) -> None:
        self._begun = time.monotonic()
        self._plays = 0
        self._settled = False
        self._once: dict[str, Any] | None = None
        self._running: dict[str, tuple[str, float]] = {}
        self._first: dict[str, float] = {}
        self._last: dict[str, float] = {}
        self._changed: defaultdict[str, int] = defaultdict(int)
        self._failed: dict[str, tuple[str, dict[str, Any]]] = {}
        self._hold_reasons: dict[str, list[str]] = {}
        self._tasks: defaultdict[str, defaultdict[str, float]] = defaultdict(lambda: defaultdict(float))

    def expect(self, plays: int) -> None:
        """Add ``plays``, which may be negative, to the number of plays that are still to come."""
        self._plays += plays
        self._settled = False

    def begin(self, host: str, task: str) -> None:
        """Record that a host begins a task."""
        now = time.monotonic()
        self._running[host] = (task, now)
        self._first.setdefault(host, now)
        self._last[host] = now

    def end(self, result: Any, *, changed: bool = False) -> None:
        """Record that a host has ended a task, with any result."""
        host, now = result.host.get_name(), time.monotonic()
        task, begun = self._running.pop(host, (result.task.get_name(), now))
        self._first.setdefault(host, now)
        self._last[host] = now
        self._changed[host] += changed
        self._tasks[task][host] += now - begun
        if reasons := result.result.get("ansible_facts", {}).get(HELD):
            self._hold_reasons[host] = [str(reason) for reason in reasons]

    def fail(self, result: Any, state: str) -> None:
        """Record that a task failed on a host, or that the host is unreachable. A host's first failure is kept, because
        later failures follow from it."""
        role = result.task._role
        what = {
            "task": result.task.name or result.task.action,
            "role": role.get_name() if role else None,
            "messages": list(_messages(result.result)),
        }
        self._failed.setdefault(result.host.get_name(), (state, what))
        if result.task.run_once and self._once is None:
            self._once = what

    def settle(self, failures: Mapping[str, int]) -> None:
        """Record the end of the run. Failures that were rescued are removed."""
        self._settled = True
        for host in [name for name, (state, _) in self._failed.items() if state == "failed" and not failures.get(name)]:
            del self._failed[host]

    def document(self) -> dict[str, Any]:
        """Return the whole document."""
        finished = self._settled and self._plays == 0
        return {
            "finished": finished,
            "seconds": round(time.monotonic() - self._begun, 3),
            "failed": self._once,
            "hosts": {name: self._host(name, finished=finished) for name in sorted(self._first)},
            "tasks": {
                name: {
                    "hosts": len(took),
                    "seconds": round(sum(took.values()), 3),
                    "slowest": round(max(took.values()), 3),
                }
                for name, took in self._tasks.items()
            },
        }

    def _host(self, name: str, *, finished: bool) -> dict[str, Any]:
        reasons = self._hold_reasons.get(name, [])
        fine = "unfinished" if not finished else "held" if reasons else "changed" if self._changed[name] else "ok"
        state, failed = self._failed.get(name, (fine, None))
        return {
            "state": state,
            "changed": self._changed[name],
            "seconds": round(self._last[name] - self._first[name], 3),
            "failed": failed,
            "hold_reasons": reasons,
        }


def _messages(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield the messages of a failed task, or of the failed items of its loop."""
    items = [item for item in result.get("results") or () if isinstance(item, Mapping)]
    failed = [item for item in items if item.get("failed") or item.get("unreachable")]
    if failed:
        for item in failed:
            yield from _messages(item)
    elif "censored" in result:
        yield HIDDEN
    else:
        message = result.get("msg") or "it failed, and says no more"
        yield from (str(line) for line in (message if isinstance(message, list) else [message]))
        yield from str(result.get("stderr") or result.get("module_stderr") or "").splitlines()[-LINES:]
