"""Each rule catches samples that break it and passes those that keep it. Samples are declared with the clouds' own
SDKs."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from functools import cache
from ipaddress import IPv4Network
from typing import Any

import pytest

from clouds.base.findings import Finding, Severity
from clouds.base.inputs import MASKED, SIGNATURE, UNKNOWN
from clouds.base.policy import Resource, Rule
from clouds.base.policy_rules import RULES
from components.model import load
from components.model.policy.judging import Policies, by_resource, checks, name_of, policies
from tests.components.policy.samples import OPERATORS, OPERATORS_INSIDE, SUPERNET, declared_samples
from tests.support.hosts import STACKS

MORE: Mapping[str, set[str]] = {
    "iam-actions/wrong text": {"iam-resources"},
    "imdsv2/wrong instance": {"metadata-hop-limit"},
    "secret-in-plain/wrong password": {"password-login"},
}
"""Rules that a sample breaks besides the rule in its name."""


@cache
def judge() -> Policies:
    """Return the policies for the samples: the lab's, as if it were not destroyable and had tags and operators of its
    own."""
    lab = load(STACKS / "Pulumi.lab.yaml")
    operators = (lab.access.operators[0].supernet(new_prefix=28),)
    inside = (IPv4Network(OPERATORS_INSIDE),)
    access = lab.access.model_copy(update={"operators": operators, "operators_inside": inside})
    changed = {"access": access, "tags": {"team": "research"}, "destroyable": False}
    return policies(lab.model_copy(update=changed), today=date(2026, 1, 1))


def found_in(resources: Iterable[Resource]) -> list[Finding]:
    return list(judge().judge(resources).findings)


@cache
def found() -> dict[str, set[str]]:
    """Return the rules that each sample breaks."""
    broken: dict[str, set[str]] = {resource.name: set() for resource in declared_samples()}
    for finding in found_in(declared_samples()):
        broken[name_of(finding)].add(finding.check)
    return broken


def test_the_samples_are_judged_by_what_they_say() -> None:
    assert (str(judge().declared.supernet), [str(one) for one in judge().declared.operators]) == (SUPERNET, [OPERATORS])


@pytest.mark.parametrize("rule", [rule.id for rule in RULES])
def test_a_rule_catches_what_breaks_it_and_nothing_else(rule: str) -> None:
    wrong = {name: rules for name, rules in found().items() if name.startswith(f"{rule}/wrong")}
    assert wrong
    assert wrong == {name: {rule} | MORE.get(name, set()) for name in wrong}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_rule_lets_pass_what_keeps_it(rule: Rule) -> None:
    right = [one for one in declared_samples() if "/wrong" not in one.name]
    assert {one.name: found()[one.name] for one in right if found()[one.name]} == {}
    assert [one for one in right if one.name.startswith(f"{rule.id}/") or one.kind in kinds_of(rule)]


def test_findings_are_sorted_and_the_same_whatever_the_order() -> None:
    forwards = found_in(declared_samples())
    assert forwards == by_resource(forwards)
    assert forwards == found_in(reversed(declared_samples()))


def test_a_finding_says_what_why_and_what_to_write() -> None:
    [one] = [one for one in found_in(declared_samples()) if name_of(one) == "ingress/wrong aws"]
    assert one == Finding(
        severity=Severity.PROBLEM,
        where=one.where,
        check="ingress",
        what="lets in 0.0.0.0/0, which is everyone",
        why=f"{rule_of('ingress').reason} ({rule_of('ingress').source})",
        do="a source inside 10.64.0.0/12, or a range that access.operators (public) or access.operators_inside "
        "(private) declares",
    )


def kinds_of(rule: Rule) -> set[str]:
    """Return the kinds of resources that a check of any cloud looks at for the rule."""
    return {kind for check in checks() if check.rule is rule for kind in check.kinds}


def test_every_rule_is_looked_for_in_some_cloud() -> None:
    assert {check.rule.id for check in checks()} == {rule.id for rule in RULES}


def rule_of(name: str) -> Rule:
    return next(rule for rule in RULES if rule.id == name)


def test_ids_are_unique_and_in_kebab_case() -> None:
    ids = [rule.id for rule in RULES]
    assert len(set(ids)) == len(ids)
    assert all(part.isalnum() and part == part.lower() for name in ids for part in name.split("-"))


def test_every_reason_is_one_sentence_with_a_source() -> None:
    for rule in RULES:
        assert rule.reason.endswith("."), rule.id
        assert ". " not in rule.reason, rule.id
        assert rule.source, rule.id


def test_a_type_of_another_version_of_its_interface_is_looked_at_too() -> None:
    [subnet] = [one for one in declared_samples() if one.name == "subnet-without-rules/wrong one"]
    versioned = Resource(
        urn=subnet.urn,
        type="azure-native:network/v20240101:Subnet",
        name=subnet.name,
        inputs=subnet.inputs,
    )
    assert [one.check for one in found_in([versioned])] == ["subnet-without-rules"]


def test_everyone_is_nobody_s_range() -> None:
    lab = load(STACKS / "Pulumi.lab.yaml")
    everyone = tuple(range_.supernet(new_prefix=0) for range_ in lab.access.operators)
    open_ = lab.model_copy(update={"access": lab.access.model_copy(update={"operators": everyone})})
    [sample] = [one for one in declared_samples() if one.name == "ingress/wrong aws other"]
    rules = [one.check for one in policies(open_).judge([sample]).findings]
    assert "ingress" in rules


def variants(value: Any) -> Iterator[Any]:
    """Yield ``value`` with one part at a time unknown, masked, wrapped as a secret, or missing."""
    yield from (UNKNOWN, MASKED, {SIGNATURE: "1b47061264138c4ac30d75fd1eb44270", "ciphertext": "v1:"}, None)
    if isinstance(value, dict):
        for key, inside in value.items():
            yield from ({**value, key: other} for other in variants(inside))
    elif isinstance(value, list):
        for index, inside in enumerate(value):
            yield from ([*value[:index], other, *value[index + 1 :]] for other in variants(inside))


def test_whatever_is_not_known_yet_can_be_looked_at() -> None:
    looked = 0
    for resource in declared_samples():
        for inputs in variants(dict(resource.inputs)):
            if isinstance(inputs, dict) and SIGNATURE not in inputs:
                found_in([dataclasses.replace(resource, inputs=inputs)])
                looked += 1
    assert looked > 1000


def test_a_setting_that_is_not_known_yet_does_not_pass() -> None:
    [template] = [one for one in declared_samples() if one.name == "imdsv2/right template"]
    inputs = {**template.inputs, "metadataOptions": {"httpTokens": UNKNOWN, "httpPutResponseHopLimit": 1}}
    [finding] = found_in([dataclasses.replace(template, inputs=inputs)])
    assert (finding.check, finding.what) == (
        "imdsv2",
        "metadataOptions.httpTokens is not known before it is made",
    )


def test_user_data_that_is_not_known_yet_passes() -> None:
    """User data contains the authority's certificate, which a new environment does not have yet."""
    [template] = [one for one in declared_samples() if one.name == "secret-in-user-data/right template"]
    inputs = {**template.inputs, "userData": UNKNOWN}
    assert found_in([dataclasses.replace(template, inputs=inputs)]) == []


def test_no_finding_shows_a_secret() -> None:
    text = " ".join(f"{one.what} {one.do}" for one in found_in(declared_samples()))
    for secret in ("never-in-plain", "correct-horse", "MHcCAQEE", "AKIAABCDEFGHIJKLMNOP", "0123456789abcdef"):
        assert secret not in text
