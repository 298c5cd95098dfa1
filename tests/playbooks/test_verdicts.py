"""The callback that writes verdicts, in real runs of Ansible with connections to this machine."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.support.ansible_cases import run_cases

PLAYBOOKS = Path(__file__).resolve().parents[2] / "playbooks"
LIMIT_S = 120.0
PLAY = "- name: Play\n  hosts: all\n  gather_facts: false\n  strategy: free\n  tasks:\n"


@pytest.fixture(name="folder")
def _folder(tmp_path: Path) -> Path:
    """Folder for a playbook, with the callback beside it as the real playbooks have it."""
    (tmp_path / "callback_plugins").symlink_to(PLAYBOOKS / "callback_plugins")
    return tmp_path


def argv(folder: Path, *hosts: str) -> list[str]:
    connection = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
    (folder / "inventory.json").write_text(
        json.dumps({"all": {"hosts": {host: {} for host in hosts}, "vars": connection}})
    )
    ansible = str(Path(sys.executable).with_name("ansible-playbook"))
    return [ansible, "--inventory", str(folder / "inventory.json"), str(folder / "play.yml")]


def environ(folder: Path) -> dict[str, str]:
    return {
        "HOME": str(folder),
        "TMPDIR": str(folder),
        "PATH": os.environ["PATH"],
        "LC_ALL": "C.UTF-8",
        "ANSIBLE_CONFIG": str(PLAYBOOKS / "ansible.cfg"),
        "LONGHAUL_VERDICTS": str(folder / "verdicts.json"),
    }


def account(folder: Path) -> dict[str, Any]:
    return dict(json.loads((folder / "verdicts.json").read_text()))


def play(folder: Path, text: str, *hosts: str, code: int = 0) -> dict[str, Any]:
    (folder / "play.yml").write_text(text)
    done = subprocess.run(
        argv(folder, *(hosts or ("one",))), env=environ(folder), capture_output=True, text=True, check=False, cwd=folder
    )
    assert done.returncode == code, done.stdout + done.stderr
    assert "callback" not in (done.stdout + done.stderr).lower()
    return account(folder)


def task(name: str, module: str, *more: str, indent: int = 4) -> str:
    lines = (f"- name: {name}", f"  ansible.builtin.{module}", *(f"  {line}" for line in more))
    return "".join(f"{' ' * indent}{line}\n" for line in lines)


def test_what_became_of_each_host(folder: Path) -> None:
    text = PLAY + task("Change", "raw: 'true'", "changed_when: inventory_hostname == 'two'")
    text += task("Stop", "fail: {msg: [its disk is full, its clock is off]}", "when: inventory_hostname == 'three'")
    text += task("Go on", "raw: 'true'", "changed_when: false")
    found = play(folder, text, "one", "two", "three", code=2)
    hosts = found["hosts"]
    assert found["finished"] is True
    assert found["failed"] is None
    assert {name: (host["state"], host["changed"]) for name, host in hosts.items()} == {
        "one": ("ok", 0),
        "two": ("changed", 1),
        "three": ("failed", 0),
    }
    assert hosts["three"]["failed"] == {
        "task": "Stop",
        "role": None,
        "messages": ["its disk is full", "its clock is off"],
    }
    assert {name: one["hosts"] for name, one in found["tasks"].items()} == {"Change": 3, "Stop": 3, "Go on": 2}
    assert all(0 < one["slowest"] <= one["seconds"] for one in found["tasks"].values())


def test_tasks_are_told_as_they_begin_and_end(folder: Path) -> None:
    text = PLAY + task("Change", "raw: 'true'", "changed_when: true")
    text += task("Skip", "raw: 'true'", "when: false") + task("Stop", "fail: {msg: no}")
    (folder / "play.yml").write_text(text)
    variables = {**environ(folder), "LONGHAUL_TASKS": str(folder / "events.json")}
    subprocess.run(argv(folder, "one"), env=variables, capture_output=True, check=False, cwd=folder)
    events = [json.loads(line) for line in (folder / "events.json").read_text().splitlines()]
    assert [(one["host"], one["task"], one["state"]) for one in events] == [
        ("one", name, state)
        for name, end in (("Change", "changed"), ("Skip", "ok"), ("Stop", "failed"))
        for state in ("begins", end)
    ]


def failing(script: str, **more: Any) -> dict[str, Any]:
    return {"name": "Do", "ansible.builtin.command": {"argv": ["sh", "-c", script]}, **more}


AWAY = {"ansible_connection": "ssh", "ansible_host": "127.0.0.1", "ansible_port": 1}
TRY = {"name": "Try", "ansible.builtin.raw": "false", "changed_when": False}
CASES: dict[str, dict[str, Any]] = {
    "command": failing("echo why >&2; exit 3"),
    "loop": failing("echo {{ item }} >&2; exit {{ item }}", loop=[0, 3], changed_when=False),
    "hidden": failing("echo hunter2 >&2; exit 3", no_log=True),
    "hidden loop": failing("echo hunter2 >&2; exit 3", no_log=True, loop=[1]),
    "away": {"name": "Go", "ansible.builtin.raw": "true", "vars": AWAY},
    "ignored": {**TRY, "ignore_errors": True},
    "rescued": {
        "name": "Both",
        "block": [TRY],
        "rescue": [{"name": "Mend", "ansible.builtin.raw": "true", "changed_when": False}],
    },
    "role": {"name": "Look", "ansible.builtin.include_role": {"name": "preflight"}},
}


@pytest.fixture(name="verdicts", scope="module")
def _verdicts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The verdict of each case, all of one run."""
    folder = tmp_path_factory.mktemp("cases")
    (folder / "roles" / "preflight" / "tasks").mkdir(parents=True)
    (folder / "roles" / "preflight" / "tasks" / "main.yml").write_text(task("Refuse", "fail: {msg: full}", indent=0))
    verdicts: dict[str, Any] = run_cases(folder, {name: [case] for name, case in CASES.items()})
    assert "preflight : Refuse" in account(folder)["tasks"]
    return verdicts


def test_a_command_that_failed_is_quoted(verdicts: dict[str, Any]) -> None:
    assert verdicts["command"]["failed"]["messages"] == ["non-zero return code", "why"]


def test_of_a_loop_the_failed_items_are_quoted(verdicts: dict[str, Any]) -> None:
    assert verdicts["loop"]["failed"]["messages"] == ["non-zero return code", "3"]


@pytest.mark.parametrize("case", ["hidden", "hidden loop"])
def test_what_a_task_hides_is_not_quoted(verdicts: dict[str, Any], case: str) -> None:
    assert verdicts[case]["state"] == "failed"
    assert "hunter2" not in json.dumps(verdicts)


def test_who_cannot_be_reached(verdicts: dict[str, Any]) -> None:
    assert verdicts["away"]["state"] == "unreachable"
    assert "port 1" in verdicts["away"]["failed"]["messages"][0]


@pytest.mark.parametrize("case", ["ignored", "rescued"])
def test_a_failure_that_stops_nothing_is_none(verdicts: dict[str, Any], case: str) -> None:
    assert (verdicts[case]["state"], verdicts[case]["failed"]) == ("ok", None)


def test_a_failed_role_is_named(verdicts: dict[str, Any]) -> None:
    assert verdicts["role"]["failed"] == {"task": "Refuse", "role": "preflight", "messages": ["full"]}


def test_a_task_that_fails_once_for_all_is_everybodys(folder: Path) -> None:
    """As the play that asks the stack does, before any host is connected to."""
    text = PLAY.replace("free", "linear") + task("Ask", "fail: {msg: no stack}", "run_once: true")
    found = play(folder, text + PLAY + task("Go", "raw: 'true'"), "one", "two", code=2)
    assert found["finished"] is False
    assert found["failed"]["messages"] == ["no stack"]
    assert found["hosts"]["one"]["state"] == "failed"
    assert "two" not in found["hosts"]


def test_a_run_that_was_interrupted_leaves_an_account(folder: Path) -> None:
    begun = folder / "begun"
    text = task("Go", "raw: 'true'", "changed_when: inventory_hostname == 'one'")
    text += task("Wait", f"raw: 'touch {begun}; exec sleep {LIMIT_S:.0f}'", "when: inventory_hostname == 'one'")
    (folder / "play.yml").write_text(PLAY + text + task("Go on", "raw: 'true'"))
    process = subprocess.Popen(argv(folder, "one"), env=environ(folder), stdout=subprocess.DEVNULL, cwd=folder)
    deadline = time.monotonic() + LIMIT_S
    while not begun.exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    assert process.wait(LIMIT_S) != 0
    found = account(folder)
    assert found["finished"] is False
    assert (found["hosts"]["one"]["state"], found["hosts"]["one"]["changed"]) == ("unfinished", 1)


def test_nothing_is_written_unless_asked_for(folder: Path) -> None:
    (folder / "play.yml").write_text(PLAY + task("Go", "raw: 'true'"))
    variables = {name: value for name, value in environ(folder).items() if name != "LONGHAUL_VERDICTS"}
    before = set(folder.iterdir())
    done = subprocess.run(argv(folder, "one"), env=variables, capture_output=True, check=False, cwd=folder)
    assert done.returncode == 0
    assert {path.name for path in set(folder.iterdir()) - before} <= {"inventory.json", ".ansible"}
