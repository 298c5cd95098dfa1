"""Machines of a control plane while they are replaced: which are others now, in which order, and whether anybody
notices."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support.project import Project

MACHINE = "azure-native:compute:VirtualMachine"


@contextmanager
def kept_project(folder: Path, raw: dict[str, Any]) -> Iterator[Project]:
    """Give the project of an environment that is up, with the config map ``kept`` in it; take its lab down at the
    end."""
    project = Project.make(folder, raw)
    try:
        project.up()
        project.kubectl("create", "configmap", "kept", "--from-literal=a=b")
        yield project
    finally:
        project.lab("down", "--all", check=False)


def generations(project: Project) -> dict[str, str]:
    """Return the cloud's id of each machine; another id means another machine. One that the engine has deleted, and not
    made anew yet, stays in its state with its old outputs: it has none."""
    exported = json.loads(project.engine("stack", "export").stdout)["deployment"]["resources"]
    machines = [r for r in exported if r["type"] == MACHINE]
    return {r["urn"].rpartition("::")[2]: "" if r.get("pendingReplacement") else r["outputs"]["vmId"] for r in machines}


def changed(before: dict[str, str], after: dict[str, str]) -> set[str]:
    """Return the names of the machines that are others now."""
    return {name for name in before if before[name] != after[name]}


def with_part(raw: dict[str, Any], part: str, **values: Any) -> dict[str, Any]:
    """Return the environment with other values of one part of its control plane; None takes one out."""
    control = raw["control_plane"]
    changed = {key: value for key, value in {**control[part], **values}.items() if value is not None}
    return {**raw, "control_plane": {**control, part: changed}}


def up(project: Project) -> None:
    """Run the engine alone, with a log of its events."""
    log = str(project.path / "events.json")
    project.engine("up", "--yes", "--skip-preview", "--event-log", log)


def lifecycle(project: Project) -> list[tuple[str, str]]:
    """Return (operation, machine) in the order in which the engine finished them, from its last run's event log."""
    lines = (project.path / "events.json").read_text(encoding="utf-8").splitlines()
    events = [json.loads(line) for line in lines]
    done = [event["resOutputsEvent"]["metadata"] for event in events if "resOutputsEvent" in event]
    steps = [(m["op"], m["urn"].rpartition("::")[2]) for m in done if m["type"] == MACHINE]
    return [(op, machine) for op, machine in steps if op in ("delete-replaced", "create-replacement")]


def one_at_a_time(steps: list[tuple[str, str]]) -> list[str]:
    """Return the machines in the order of their replacement; fail when one was deleted before the previous one was
    back."""
    machines = [machine for _, machine in steps[::2]]
    assert steps == [(op, machine) for machine in machines for op in ("delete-replaced", "create-replacement")]
    return machines


@contextmanager
def repeated(act: Callable[[], str]) -> Iterator[list[str]]:
    """Do something again and again during the block, and return what it complained of."""
    complaints: list[str] = []
    over = threading.Event()

    def repeat() -> None:
        while not over.is_set():
            complaints.extend(filter(None, [act()]))

    worker = threading.Thread(target=repeat)
    worker.start()
    try:
        yield complaints
    finally:
        over.set()
        worker.join()


def tried_twice(project: Project, *words: str) -> str:
    """Return the error of a kubectl command that failed twice in a row, as for a user who tries once more: a server
    that vanishes without notice still gets connections until its probe has failed twice."""
    for _ in range(2):
        done = project.kubectl(*words, "--request-timeout=15s", check=False)
        if done.returncode == 0:
            return ""
    return done.stderr
