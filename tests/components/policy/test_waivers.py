"""Waivers: the exceptions that they admit, until which day, and the findings about invalid ones."""

from __future__ import annotations

from datetime import date

import pytest
from pydantic import ValidationError

from clouds.base.policy import Resource
from components.model import Environment, load
from components.model.policy.judging import EXPIRED, REFUSED, UNUSED, Judged, policies
from components.model.policy.waivers import Waiver
from tests.support.hosts import STACKS

TODAY = date(2027, 1, 15)


def waiver(*, rule: str = "public-address", resource: str = "lab-bastion", until: date = date(2027, 1, 31)) -> Waiver:
    return Waiver(rule=rule, resource=resource, why="a bastion until March", until=until, approved_by="somebody")


def judged(*waivers: Waiver, name: str = "lab-bastion", today: date = TODAY) -> Judged:
    """Judge one public address that nothing accounts for."""
    tags = {"longhaul-environment": "lab", "longhaul-site": "weu"}
    type_ = "azure-native:network:PublicIPAddress"
    address = Resource(urn=f"urn:pulumi:lab::longhaul::{type_}::{name}", type=type_, name=name, inputs={"tags": tags})
    return policies(with_waivers(*waivers), today=today).judge([address])


def with_waivers(*waivers: Waiver) -> Environment:
    return load(STACKS / "Pulumi.lab.yaml").model_copy(update={"waivers": waivers})


def rules(result: Judged) -> list[str]:
    return [one.check for one in result.findings]


def test_without_a_waiver_the_finding_stands() -> None:
    assert rules(judged()) == ["public-address"]


@pytest.mark.parametrize("pattern", ["lab-bastion", "lab-*", "lab-bastio?"])
def test_a_waiver_admits_what_it_names_and_it_is_shown(pattern: str) -> None:
    result = judged(waiver(resource=pattern))
    assert result.findings == ()
    [one] = result.waived
    assert (one.finding.check, one.waiver.why) == ("public-address", "a bastion until March")


def test_a_waiver_stands_on_its_last_day_and_not_on_the_next() -> None:
    assert judged(waiver(until=TODAY)).findings == ()
    result = judged(waiver(until=date(2027, 1, 14)))
    assert rules(result) == ["public-address", EXPIRED]
    assert result.findings[1].what == "public-address for lab-bastion ended on 2027-01-14"
    assert result.findings[1].where == ("waivers[0]",)
    assert result.waived == ()


def test_a_renewed_waiver_beside_the_one_that_ended_admits() -> None:
    result = judged(waiver(until=date(2027, 1, 14)), waiver())
    assert rules(result) == [EXPIRED]
    assert len(result.waived) == 1


@pytest.mark.parametrize("other", [waiver(resource="lab-other"), waiver(rule="ingress")])
def test_a_waiver_that_matches_nothing_is_a_finding(other: Waiver) -> None:
    assert rules(judged(other)) == ["public-address", UNUSED]


@pytest.mark.parametrize(
    ("refused", "what"),
    [
        (waiver(rule="public"), "there is no rule 'public'"),
        (waiver(rule="secret-in-user-data"), "secret-in-user-data cannot be waived"),
        (waiver(rule="waiver-unused"), "there is no rule 'waiver-unused'"),
    ],
)
def test_a_waiver_that_cannot_be_is_a_finding_and_admits_nothing(refused: Waiver, what: str) -> None:
    result = judged(refused)
    assert rules(result) == ["public-address", REFUSED]
    assert result.findings[1].what == what


@pytest.mark.parametrize("pattern", ["*", "?*", "*-*"])
def test_a_pattern_that_names_no_resource_is_an_error_in_the_file(pattern: str) -> None:
    with pytest.raises(ValidationError, match="resource"):
        waiver(resource=pattern)


def test_a_waiver_is_for_its_rule_alone() -> None:
    """An address without tags breaks two rules."""
    type_ = "azure-native:network:PublicIPAddress"
    address = Resource(urn=f"urn:pulumi:lab::longhaul::{type_}::lab-bastion", type=type_, name="lab-bastion", inputs={})
    found = policies(with_waivers(waiver()), today=TODAY).judge([address]).findings
    assert {one.check for one in found} == {"tags"}
