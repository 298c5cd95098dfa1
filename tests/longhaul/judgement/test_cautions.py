"""Doubts about a file in a plan: brought by the change, as before, and such that no plan is safe."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from clouds.base.findings import Severity
from contract.reasons.plan import FileReason
from longhaul.judgement.plan import PlanTerms, make_plan
from longhaul.judgement.text import to_text
from tests.longhaul.judgement.steps import GROUP, changes, judged, lab, step
from tests.longhaul.plan.test_files import STACK


def unsold(raw: dict[str, Any]) -> None:
    raw["pools"]["cpu"]["machine_type"] = "p5e.48xlarge"


def placeholder(raw: dict[str, Any]) -> None:
    raw["sites"]["use1"]["image"] = "ami-00000000000000000"


def test_a_doubt_that_a_change_brings_needs_care_and_one_from_before_is_listed() -> None:
    brought = judged(environment=lab(unsold), base=lab())
    assert brought.verdict is Severity.WARNING
    assert FileReason.TYPE_NOT_SOLD in {one.reason for one in brought.reasons}
    before = judged(environment=lab(unsold), base=lab(unsold))
    assert before.verdict is Severity.OK
    assert FileReason.TYPE_NOT_SOLD in {one.reason for one in before.risks}


def test_without_a_file_of_before_a_pool_that_is_made_brings_its_doubts() -> None:
    made = step("create", GROUP, "lab-cpu-group", after={"minSize": 1, "maxSize": 4})
    assert FileReason.TYPE_NOT_SOLD in {one.reason for one in judged(made, environment=lab(unsold)).reasons}
    assert FileReason.TYPE_NOT_SOLD not in {one.reason for one in judged(environment=lab(unsold)).reasons}


def test_no_plan_of_a_placeholder_is_safe() -> None:
    plan = judged(environment=lab(placeholder), base=lab(placeholder))
    assert plan.verdict is Severity.WARNING
    assert FileReason.PLACEHOLDER_IMAGE in {one.reason for one in plan.reasons}


def unsigned(raw: dict[str, Any]) -> None:
    del raw["depots"]


def plain(raw: dict[str, Any]) -> None:
    for site in raw["sites"].values():
        site["depot"] = "http://depot.longhaul.internal"


OF_DEPOTS = pytest.mark.parametrize(
    ("doubtful", "reason"), [(unsigned, FileReason.DEPOT_UNSIGNED), (plain, FileReason.DEPOT_PLAIN)]
)


@OF_DEPOTS
def test_a_depot_that_is_not_to_be_believed_is_refused_where_it_is_new(
    doubtful: Callable[[dict[str, Any]], None], reason: FileReason
) -> None:
    brought = judged(environment=lab(doubtful), base=lab())
    assert brought.verdict is Severity.PROBLEM
    assert reason in {one.reason for one in brought.reasons}


@OF_DEPOTS
def test_where_it_was_before_it_needs_care_and_blocks_nothing(
    doubtful: Callable[[dict[str, Any]], None], reason: FileReason
) -> None:
    plan = judged(environment=lab(doubtful), base=lab(doubtful))
    assert plan.verdict is Severity.WARNING
    (found,) = (one for one in plan.reasons if one.reason == reason)
    assert found.where == ("sites.weu.depot", "sites.use1.depot", "sites.rack.depot")


def test_one_doubt_of_several_places_is_one_reason() -> None:
    def placeholders(raw: dict[str, Any]) -> None:
        placeholder(raw)
        raw["sites"]["usw2"] = {**raw["sites"]["use1"], "region": "us-west-2"}

    plan = judged(environment=lab(placeholders), base=lab(placeholders))
    (found,) = (one for one in plan.reasons if one.reason == FileReason.PLACEHOLDER_IMAGE)
    assert found.where == ("sites.use1.image", "sites.usw2.image")
    assert "where: sites.use1.image, sites.usw2.image" in to_text(plan)


def test_a_new_file_full_of_doubts_is_neither_safe_nor_new() -> None:
    plan = make_plan(lab(unsold), changes(STACK), PlanTerms(against="compared with nothing"))
    assert to_text(plan).startswith("lab: needs care\n")
    assert "safe" not in to_text(plan)
