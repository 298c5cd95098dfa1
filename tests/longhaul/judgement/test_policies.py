"""Policies' findings become reasons of the plan: those that a change causes, and those that existed before."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from clouds.base.findings import Finding, Severity
from components.model import Environment, load
from components.model.policy.waivers import Waiver
from longhaul.judgement.policies import policy_findings
from longhaul.judgement.preview_document import PreviewDocument, read_document

STACKS = Path(__file__).parents[3] / "stacks"
ADDRESS = "azure-native:network:PublicIPAddress"
TAGS = {"longhaul-environment": "lab", "longhaul-site": "weu"}


def lab(*waivers: Waiver) -> Environment:
    return load(STACKS / "Pulumi.lab.yaml").model_copy(update={"waivers": waivers})


def waiver(until: date) -> Waiver:
    why = "a bastion until the VPN stands"
    return Waiver(rule="public-address", resource="lab-bastion", why=why, until=until, approved_by="somebody")


def step(op: str, name: str, **more: Any) -> dict[str, Any]:
    """Return a step with a public address that nothing accounts for."""
    new = {"custom": True, "inputs": {"tags": TAGS}, **more}
    return {"op": op, "urn": f"urn:pulumi:lab::longhaul::{ADDRESS}::{name}", "newState": new}


def found(*steps: dict[str, Any], environment: Environment | None = None) -> tuple[Finding, ...]:
    document: PreviewDocument = read_document(json.dumps({"steps": steps, "changeSummary": {}}), source="a test")
    return policy_findings([document], environment or lab())


def test_what_a_change_makes_so_is_refused_and_told_once_for_a_rule() -> None:
    (one,) = found(step("create", "lab-one"), step("update", "lab-two"))
    assert one.severity is Severity.PROBLEM
    assert one.where == ("lab-one", "lab-two")
    assert one.what.startswith("policy public-address: ")
    assert one.do.endswith("or waive it in the environment file (docs/policy.md)")


def test_what_was_so_before_needs_care_and_keeps_nobody_from_another_change() -> None:
    old, new = found(step("same", "lab-old"), step("create", "lab-new"))
    assert (old.severity, old.where) == (Severity.WARNING, ("lab-old",))
    assert old.what.endswith("; it was broken before")
    assert (new.severity, new.where) == (Severity.PROBLEM, ("lab-new",))


def test_what_a_refresh_reads_is_not_judged() -> None:
    """`longhaul up` refreshes: a new tag of the environment is on nothing that the clouds have yet."""
    group = "urn:pulumi:lab::longhaul::azure-native:resources:ResourceGroup::lab-weu"
    read = {**step("refresh", "", inputs={"tags": {}}), "urn": group}
    change = {**step("update", ""), "urn": group}
    assert found(read, change) == ()
    assert found({**change, "newState": read["newState"]}) != ()


def test_groups_of_resources_and_what_goes_are_not_judged() -> None:
    gone = {**step("delete", "lab-gone"), "newState": None}
    assert found(step("create", "lab-group", custom=False), gone) == ()


def test_a_waiver_of_the_environment_admits_and_one_that_ended_is_told() -> None:
    today = datetime.now(UTC).date()
    (one,) = found(step("create", "lab-bastion"), environment=lab(waiver(today)))
    assert (one.severity, one.why) == (Severity.OK, "a bastion until the VPN stands")
    ended = lab(waiver(today - timedelta(days=1)))
    told = found(step("create", "lab-bastion"), environment=ended)
    assert sorted(one.severity for one in told) == sorted((Severity.PROBLEM, Severity.WARNING))
    assert not [one.what for one in told if "it was broken before" in one.what]
