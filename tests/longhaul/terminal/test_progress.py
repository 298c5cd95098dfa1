"""Progress of a phase: the engine's events as they are read, counted and shown."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from longhaul.engine.events import EngineEvents
from longhaul.racks.tasks import Tasks
from longhaul.terminal import progress as subject
from longhaul.terminal.output import Output
from longhaul.terminal.progress import Progress

MACHINE = "azure-native:compute:VirtualMachine"
READINESS = "pulumi-python:dynamic/longhaul:Readiness"
STACK = "pulumi:pulumi:Stack"
ENDED: dict[str, Any] = {"summaryEvent": {"resourceChanges": {"create": 7, "same": 2}}}


def metadata(op: str, name: str, kind: str = MACHINE, *, logical: bool = True) -> dict[str, Any]:
    urn = f"urn:pulumi:dev::longhaul::longhaul:Cluster${kind}::{name}"
    return {"op": op, "urn": urn, "type": kind, "new": {"custom": kind != STACK}, "logical": logical}


def begins(op: str, name: str, kind: str = MACHINE, *, planning: bool = False) -> dict[str, Any]:
    return {"resourcePreEvent": {"metadata": metadata(op, name, kind), "planning": planning}}


def ends(op: str, name: str, kind: str = MACHINE, *, logical: bool = True) -> dict[str, Any]:
    return {"resOutputsEvent": {"metadata": metadata(op, name, kind, logical=logical)}}


def says(severity: str, message: str, name: str = "") -> dict[str, Any]:
    urn = metadata("create", name)["urn"] if name else ""
    return {"diagnosticEvent": {"severity": severity, "message": message, "urn": urn}}


def told(events: EngineEvents, *given: dict[str, Any]) -> list[str]:
    return [line for event in given for line in events.take(event)]


@pytest.fixture(name="events")
def _events() -> EngineEvents:
    return EngineEvents(shown=set())


def test_changes_are_shown_by_name_and_counted(events: EngineEvents) -> None:
    lines = told(
        events,
        begins("same", "dev", STACK),
        *(event for op in ("create", "update", "delete") for event in (begins(op, op), ends(op, op))),
        begins("same", "kept"),
        ends("same", "kept"),
        ends("delete-replaced", "old", logical=False),
        ends("replace", "old"),
        ends("create-replacement", "old", logical=False),
    )
    words = ("create (VirtualMachine) created", "update (VirtualMachine) changed", "delete (VirtualMachine) removed")
    assert [line.rpartition(",")[0] for line in lines] == [*words, "old (VirtualMachine) replaced"]
    assert events.counts() == {"created": 1, "changed": 1, "replaced": 1, "removed": 1, "unchanged": 1}
    told(events, ENDED)
    assert events.counts()["created"] == 7


def test_of_a_new_stack_its_machines_alone_are_shown(events: EngineEvents) -> None:
    given = [begins("create", "dev", STACK), begins("create", "etcd"), ends("create", "etcd")]
    assert told(events, *given) == []
    lines = told(events, begins("create", "etcd-ready", READINESS), ends("create", "etcd-ready", READINESS))
    assert lines == ["etcd is ready, after 0 s"]


def test_many_changes_are_no_flood(events: EngineEvents) -> None:
    lines = told(events, begins("same", "dev", STACK), *(ends("create", f"m-{number}") for number in range(200)))
    assert len(lines) == 21
    assert lines[-1] == "further changes are counted; the log names each"


def test_what_a_refresh_or_a_preview_looks_at_is_no_change(events: EngineEvents) -> None:
    given = [begins("refresh", "one"), ends("update", "one"), begins("create", "two", planning=True)]
    assert told(events, *given, ends("create", "two")) == []
    assert sum(events.counts().values()) == 0
    assert events.state().startswith("previewing")


def test_what_takes_longest_is_named_first(events: EngineEvents, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "starts" in events.state()
    now = time.monotonic()
    for number in range(5):
        monkeypatch.setattr(time, "monotonic", lambda number=number: now + number)
        told(events, begins("create", f"m-{number}"))
    monkeypatch.setattr(time, "monotonic", lambda: now + 100)
    told(events, ends("create", "m-0"))
    *_, awaited = events.state().split("; ")
    label = "(VirtualMachine) for"
    assert awaited == f"awaiting m-1 {label} 99 s, m-2 {label} 98 s, m-3 {label} 97 s and 1 more"


def test_each_error_is_shown_once_and_in_full(events: EngineEvents) -> None:
    given = [says("error", "the cloud says no\nfor a reason\n", "m-0")] * 2
    lines = told(events, *given, says("error", "update failed\n"), says("debug", "a word"))
    assert lines == ["error: m-0 (VirtualMachine):\nthe cloud says no\nfor a reason"]
    assert {one.message for one in events.errors} == {"the cloud says no\nfor a reason"}


def test_a_plugin_on_path_is_no_warning(events: EngineEvents) -> None:
    warning = "using pulumi-resource-aws from $PATH at /a/pulumi-resource-aws\n"
    assert told(events, says("warning", warning), says("warning", "old")) == ["warning: old"]


def test_tags_of_colours_are_left_out(events: EngineEvents) -> None:
    assert told(events, says("error", "<{%fg 13%}>no<{%reset%}> such cloud")) == ["error: no such cloud"]


def test_the_tasks_of_hosts_are_counted() -> None:
    tasks = Tasks()
    assert "starts" in tasks.state()
    for state, host in (("begins", "one"), ("begins", "two"), ("changed", "one")):
        assert tasks.take({"host": host, "task": "role : do", "state": state}) == ()
    assert tasks.state() == "1 task done, 1 change; awaiting two at role : do for 0 s"


class Numbers:
    """An account that shows each event."""

    def take(self, event: dict[str, Any]) -> list[str]:
        return [str(event["is"])]

    def state(self) -> str:
        return "state"


def lines_of(*names: str) -> str:
    return "".join(json.dumps({"sequence": number, "is": name}) + "\n" for number, name in enumerate(names))


def shown(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return [line.rpartition(": ")[2] for line in capsys.readouterr().err.splitlines()]


def test_events_are_read_as_they_come_and_from_the_start_when_the_file_begins_anew(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "events"
    with Progress(title="x", output=Output(log=None), began=0).following(Numbers(), path) as followed:
        followed.look()
        assert shown(capsys) == []
        path.write_text(lines_of("a", "b") + '{"sequence": 2, "is":')
        followed.look()
        assert shown(capsys) == ["a", "b"]
        path.write_text(lines_of("a", "b", "c"))
        followed.look()
        assert shown(capsys) == ["c"]
        for anew in (("d",), ("e", "f", "g", "h", "i"), ("a", "long one", "and more", "and still more of it")):
            path.write_text(lines_of(*anew))
            followed.look()
            assert shown(capsys) == list(anew)
        path.write_text(lines_of("j", "k"))
    assert shown(capsys) == ["j", "k"], "what came last is shown too"


def test_what_is_awaited_is_told_now_and_then(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    with Progress(title="x", output=Output(log=None), began=0).following(Numbers(), tmp_path / "none") as followed:
        while now[0] < 3600:
            followed.look()
            now[0] += 1
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == f"longhaul: [{subject.TELL_S:4.0f} s] x: state"
    assert 10 < len(lines) < 25


def test_an_event_of_another_form_ends_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "events"
    path.write_text(
        '{"summaryEvent": []}\n{"diagnosticEvent": 1}\n[]\nno JSON\n' + json.dumps(says("error", "no")) + "\n"
    )
    with Progress(title="x", output=Output(log=None), began=0).following(EngineEvents(shown=set()), path) as followed:
        followed.look()
    assert shown(capsys) == ["no"]


def test_where_the_program_writes_on_the_terminal_nothing_is_added(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "events"
    path.write_text(lines_of("a"))
    output = Output(log=None, terminal=True)
    with Progress(title="x", output=output, began=0).following(Numbers(), path) as followed:
        followed.look()
    assert capsys.readouterr().err == ""


def test_certificates_that_were_issued_anew_are_kept_account_of(events: EngineEvents) -> None:
    told(
        events,
        begins("update", "lab-etcd-0-member", "x:y:Certificate", planning=True),
        ends("update", "lab-etcd-0-member", "x:y:Certificate"),
        {"preludeEvent": {}},
        begins("update", "lab-api-0-apiserver", "x:y:Certificate"),
        ends("update", "lab-api-0-apiserver", "x:y:Certificate"),
        begins("update", "lab-ca-etcd", "x:y:CertificateAuthority"),
        ends("update", "lab-ca-etcd", "x:y:CertificateAuthority"),
        begins("create", "lab-api-1-apiserver", "x:y:Certificate"),
        ends("create", "lab-api-1-apiserver", "x:y:Certificate"),
    )
    assert events.renewed == ["lab-api-0-apiserver"]
