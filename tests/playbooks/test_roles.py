"""Roles as text: what every role must have, and what none may have."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

PLAYBOOKS = Path(__file__).resolve().parents[2] / "playbooks"
ROLES = sorted(path for path in (PLAYBOOKS / "roles").iterdir() if path.is_dir())
FILES = sorted(path for path in PLAYBOOKS.rglob("*.yml"))
KEYWORDS = {
    *("name", "vars", "when", "loop", "loop_control", "register", "changed_when", "failed_when", "no_log", "notify"),
    *("listen", "tags", "until", "retries", "delay", "delegate_to", "become", "check_mode", "run_once", "args"),
    *("block", "rescue", "always", "environment"),
}


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def tasks(path: Path) -> Iterator[dict[str, Any]]:
    """Yield every task of a file, including those inside blocks."""
    for item in read(path) or []:
        yield from flat(item)


def flat(item: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield item
    for part in ("tasks", "pre_tasks", "post_tasks", "handlers", "block", "rescue", "always"):
        for inner in item.get(part, ()):
            yield from flat(inner)


def of_tasks() -> list[Path]:
    return [path for path in FILES if path.parent.name in ("tasks", "handlers")]


@pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)
def test_defaults_are_what_the_argument_spec_says(role: Path) -> None:
    options = read(role / "meta" / "argument_specs.yml")["argument_specs"]["main"].get("options", {})
    declared = {name: option["default"] for name, option in options.items() if "default" in option}
    defaults = role / "defaults" / "main.yml"
    assert (read(defaults) or {} if defaults.exists() else {}) == declared
    assert all(option.get("description") for option in options.values())


@pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)
def test_variables_carry_their_roles_name(role: Path) -> None:
    names = set(read(role / "meta" / "argument_specs.yml")["argument_specs"]["main"].get("options", {}))
    for folder in ("defaults", "vars"):
        path = role / folder / "main.yml"
        names |= set(read(path) or {}) if path.exists() else set()
    for path in of_tasks():
        if role in path.parents:
            names |= {task["register"] for task in tasks(path) if "register" in task}
            names |= {name for task in tasks(path) for name in task.get("ansible.builtin.set_fact", {})}
    assert all(name.startswith(f"{role.name}_") for name in names), names


@pytest.mark.parametrize("path", of_tasks(), ids=lambda path: str(path.relative_to(PLAYBOOKS)))
def test_tasks_have_names_and_modules_of_ansible_core(path: Path) -> None:
    for task in tasks(path):
        assert task.get("name"), task
        (module,) = set(task) - KEYWORDS
        assert module.startswith("ansible.builtin."), module


def test_what_holds_a_secret_is_not_logged() -> None:
    """Covers tasks with the stack's outputs, a token or a secret file in their arguments."""
    marked = ("longhaul_stack", "node_token", "value.secret", "machine_files_map |")
    shown = [
        (path.name, task["name"])
        for path in [*of_tasks(), PLAYBOOKS / "site.yml"]
        for task in tasks(path)
        if any(mark in yaml.safe_dump({k: v for k, v in task.items() if k != "vars"}) for mark in marked)
        and not task.get("no_log")
        and "ansible.builtin.include_role" not in task
        and "tasks" not in task
    ]
    # This task looks at the paths only, and the packed files are not secret.
    assert shown == [
        ("main.yml", "Look at the files that are there"),
    ]
