"""A plan for each verdict, in each form. After an intended change: ``pytest tests/longhaul/plan --update-golden``.

The documents are the engine's own, for the lab's environment and a change of its file, without the resources that do
not change.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clouds.base.findings import Severity
from components.model import Environment
from longhaul.engine.preview_counts import parse_preview
from longhaul.judgement.changes import ResourceAction, read_changes
from longhaul.judgement.plan import Plan, PlanTerms, make_plan
from longhaul.judgement.preview_document import read_document
from longhaul.judgement.text import to_json, to_text
from longhaul.plan.markdown import to_markdown
from longhaul.report.text import WIDTH
from tests.longhaul.judgement.steps import lab
from tests.support.golden import Golden

HERE = Path(__file__).parent
FORMS: dict[str, Callable[[Plan], str]] = {"txt": to_text, "md": to_markdown, "json": to_json}


def grown(raw: dict[str, Any]) -> None:
    raw["pools"]["cpu"]["max"] = 20
    reserved = {"reservation": {"id": "cr-0123456789abcdef0"}, "zones": ["a"]}
    raw["pools"]["gpu"] = {"site": "use1", "machine_type": "p5.48xlarge", "max": 8, **reserved}


def moved_port(raw: dict[str, Any]) -> None:
    raw["control_plane"]["api"]["port"] = 7443


def shrunk(raw: dict[str, Any]) -> None:
    raw["control_plane"]["etcd"]["members"] = 1
    raw["pools"]["cpu"]["max"] = 5
    raw["sites"]["rack"]["gateways"][0]["public_address"] = "198.51.100.21"


CASES = {"safe": (grown, Severity.OK), "care": (moved_port, Severity.WARNING), "refused": (shrunk, Severity.PROBLEM)}


def planned(name: str, environment: Environment) -> Plan:
    path = HERE / "documents" / f"{name}.json"
    document = read_document(path.read_text(encoding="utf-8"), source=path.name)
    return make_plan(environment, read_changes([document]), PlanTerms(against=f"as previewed in {path.name}"))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", CASES)
def test_a_plan_reads_as_it_did(name: str, form: str, golden: Golden) -> None:
    change, verdict = CASES[name]
    plan = planned(name, lab(change))
    assert plan.verdict is verdict
    golden(f"{name}.{form}", FORMS[form](plan))


@pytest.mark.parametrize("name", CASES)
def test_a_line_of_text_fits_the_terminal(name: str) -> None:
    written = to_text(planned(name, lab(CASES[name][0])))
    assert [line for line in written.splitlines() if len(line) > WIDTH] == []


@pytest.mark.parametrize("name", ["safe", "care"])
def test_the_numbers_are_the_engines(name: str) -> None:
    plan = planned(name, lab(CASES[name][0]))
    preview = parse_preview((HERE / "documents" / f"{name}.json").read_text(encoding="utf-8"))
    assert preview is not None
    counts = preview.digest(seconds=0)
    told = {
        action: plan.counts.get(action, 0)
        for action in (ResourceAction.MAKE, ResourceAction.CHANGE, ResourceAction.REPLACE, ResourceAction.DESTROY)
    }
    assert list(told.values()) == [counts.create, counts.update, counts.replace, counts.delete]
    assert plan.same == counts.same
