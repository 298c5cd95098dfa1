"""The report: as text, as Markdown, as JSON, and as an exit code."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from longhaul.acceptance.outcome import AcceptanceReport, Stay, StepOutcome, StepResult
from longhaul.acceptance.text import to_json, to_markdown, to_text
from longhaul.terminal.exits import Exit

UP = StepOutcome(name="up", shows="it is made", result=StepResult.PASSED, seconds=61.4, evidence="it succeeded")
DNS = StepOutcome(name="dns", shows="names are found", result=StepResult.FAILED, seconds=0.6, evidence="a | b\nc")
GPUS = StepOutcome(
    name="gpus", shows="there are some", result=StepResult.NOT_APPLICABLE, seconds=0, evidence="no node has"
)
NODES = StepOutcome(name="nodes", shows="they are ready", result=StepResult.PASSED, seconds=2, evidence="2 nodes")
REPORT = AcceptanceReport(
    environment="dev",
    stays=Stay.NONE,
    begun=datetime(2026, 11, 1, 12, tzinfo=UTC),
    seconds=64,
    budget="12 machines, 1 h",
    log="/state/dev.acceptance.log",
    steps=(UP,),
    checks=(DNS, GPUS, NODES),
)

TEXT = """\
Acceptance of dev: looked at, taken down

Steps
  ok      up        61 s  it succeeded

Checks
  FAILED  dns        1 s  a | b c
  -       gpus       0 s  no node has
  ok      nodes      2 s  2 nodes

dev: not accepted after 64 s (2 passed, 1 failed, 1 not applicable); what was made is taken down
Output of its steps: /state/dev.acceptance.log"""

MARKDOWN = """\
# Acceptance of dev: looked at, taken down

dev: not accepted after 64 s (2 passed, 1 failed, 1 not applicable); what was made is taken down

- Begun: 2026-11-01T12:00:00+00:00
- Terms: 12 machines, 1 h
- Log: `/state/dev.acceptance.log`

## Steps

| | Shows | Result | Seconds | Evidence |
|---|---|---|---:|---|
| up | it is made | passed | 61 | it succeeded |

## Checks

| | Shows | Result | Seconds | Evidence |
|---|---|---|---:|---|
| dns | names are found | failed | 1 | a \\| b<br>c |
| gpus | there are some | not applicable | 0 | no node has |
| nodes | they are ready | passed | 2 | 2 nodes |
"""


def test_text_and_markdown() -> None:
    assert to_text(REPORT) == TEXT
    assert to_markdown(REPORT) == MARKDOWN


def test_json_has_all_of_it() -> None:
    content = json.loads(json.dumps(to_json(REPORT)))
    assert (content["accepted"], content["exit_code"]) == (False, 1)
    assert (content["made"], content["stays"]) == (True, "what was made is taken down")
    assert content["log"] == "/state/dev.acceptance.log"
    assert content["steps"] == [
        {"name": "up", "shows": "it is made", "result": "passed", "seconds": 61.4, "evidence": "it succeeded"}
    ]
    assert [one["result"] for one in content["checks"]] == ["failed", "not applicable", "passed"]


@pytest.mark.parametrize(
    ("stays", "title", "made"),
    [
        (Stay.NOTHING, "not made", False),
        (Stay.NONE, "not looked at, taken down", True),
        (Stay.PART, "not looked at, not all taken down", True),
        (Stay.ALL, "checked as it was", False),
    ],
)
def test_what_there_is_afterwards_is_said_first_and_last(stays: Stay, title: str, made: bool) -> None:
    report = replace(REPORT, stays=stays, checks=(), interrupted=True)
    first, *_, summary, _log = to_text(report).splitlines()
    assert first == f"Acceptance of dev: {title}"
    assert summary == f"dev: interrupted after 64 s (1 passed, 0 failed, 0 not applicable); {stays}"
    assert to_json(report)["made"] is made


@pytest.mark.parametrize(
    ("report", "code"),
    [
        (replace(REPORT, checks=(GPUS, NODES)), Exit.OK),
        (replace(REPORT, checks=(NODES,), steps=(replace(UP, result=StepResult.FAILED),)), Exit.FAILED),
        (replace(REPORT, checks=()), Exit.FAILED),
        (replace(REPORT, checks=(GPUS,)), Exit.FAILED),
        (replace(REPORT, checks=(NODES,), interrupted=True), Exit.INTERRUPTED),
    ],
)
def test_exit_codes(report: AcceptanceReport, code: Exit) -> None:
    assert report.exit_code() is code
    assert report.accepted is (code is Exit.OK)
