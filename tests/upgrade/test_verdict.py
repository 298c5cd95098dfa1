"""Changes that an upgrade may make, and changes that are refused."""

from __future__ import annotations

import base64
from collections.abc import Mapping

import pytest
import yaml
from pydantic import ValidationError

from tests.longhaul.judgement.steps import TEMPLATE, VM, Step, changes, step
from tests.upgrade.releases import Entry
from tests.upgrade.verdict import Verdict, judge

WHY = "because a user wants it so"
SUBNET = "azure-native:network:Subnet"
HOOKS = {"BeforeDelete": ["lab-etcd-0-keeps-quorum"]}


def judged(*steps: Step, accepted: tuple[Entry, ...] = ()) -> Verdict:
    return judge(changes(*steps).changes, accepted)


def entry(action: str, type_: str, property_: str = "") -> Entry:
    return Entry.model_validate({"action": action, "type": type_, "property": property_, "why": WHY})


def user_data(files: Mapping[str, str]) -> dict[str, object]:
    text = yaml.safe_dump({"write_files": [{"path": path, "content": content} for path, content in files.items()]})
    return {"userData": base64.b64encode(text.encode()).decode()}


@pytest.mark.parametrize(
    ("op", "said", "advice"),
    [
        ("create", "make", "accepted.yaml"),
        ("delete", "destroy", "aliases"),
        ("update", "change", "accepted.yaml"),
        ("replace", "replace", "guard"),
        ("import", "adopt", "none of this"),
    ],
)
def test_what_nobody_accepted_is_refused_with_what_to_do(op: str, said: str, advice: str) -> None:
    (refused,) = judged(step(op, SUBNET, "lab-weu-etcd")).refused
    assert refused.startswith(f"{said} urn:pulumi:lab::longhaul::longhaul:Cluster${SUBNET}::lab-weu-etcd")
    assert advice in refused


@pytest.mark.parametrize("action", ["make", "destroy"])
def test_what_was_accepted_is_allowed_and_noted(action: str) -> None:
    op = {"make": "create", "destroy": "delete"}[action]
    accepted = entry(action, SUBNET)
    verdict = judged(step(op, SUBNET, "lab-weu-etcd"), accepted=(accepted, entry(action, VM)))
    assert verdict == Verdict(refused=(), used=frozenset({accepted}))


def test_every_property_that_changes_is_to_be_accepted() -> None:
    change = step("update", SUBNET, "lab-weu-etcd", detailed={"delegations[0].name": "update", "natGateway": "add"})
    verdict = judged(change, accepted=(entry("change", SUBNET, "delegations.name"),))
    assert [line.split("\n")[0].rsplit(": ", 1)[1] for line in verdict.refused] == ["natGateway"]


def test_a_replacement_is_accepted_only_behind_a_guard() -> None:
    both = {"osProfile.customData": "update-replace", "tags.a": "update"}
    accepted = (entry("replace", VM, "osProfile.customData"), entry("change", VM, "tags.a"))
    guarded = step("replace", VM, "lab-etcd-0", detailed=both, resourceHooks=HOOKS)
    bare = step("replace", VM, "lab-etcd-0", detailed=both)
    assert judged(guarded, accepted=accepted).refused == ()
    assert len(judged(bare, accepted=accepted).refused) == 1


def test_user_data_is_told_by_its_files() -> None:
    before, after = user_data({"/a": "1", "/b": "1"}), user_data({"/a": "1", "/b": "2", "/c": "1"})
    (refused,) = judged(step("update", TEMPLATE, "lab-cpu", before, after, detailed={"userData": "update"})).refused
    assert "userData (/b, /c)" in refused


def test_components_and_the_engine_s_own_are_nothing_in_a_cloud() -> None:
    assert judged(
        step("delete", "longhaul:Links", "lab-links"), step("create", "pulumi:providers:aws", "default_8_0_0")
    ) == Verdict(refused=(), used=frozenset())


@pytest.mark.parametrize(
    "wrong",
    [
        {"action": "change", "type": VM, "why": WHY},
        {"action": "make", "type": VM, "property": "tags", "why": WHY},
        {"action": "make", "type": VM, "why": "short"},
        {"action": "adopt", "type": VM, "why": WHY},
    ],
)
def test_an_entry_that_says_too_little_is_refused(wrong: dict[str, str]) -> None:
    with pytest.raises(ValidationError):
        Entry.model_validate(wrong)
