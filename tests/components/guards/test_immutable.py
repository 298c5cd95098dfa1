"""Immutable settings are refused when they change, and resources in use are not deleted without confirmation."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import pytest

from components.control_plane.guard import DESTROY_VARIABLE
from components.control_plane.replacement import GuardRefusedError
from components.guards import immutable as immutable_guard
from components.model import Environment, load
from components.model.control_plane.etcd import EtcdLearner
from contract.tag_keys import SITE
from tests.support.declared import Program, plain
from tests.support.hosts import STACKS
from tests.support.whole import declare_whole, with_few_machines

VAULT = "azure-native:keyvault:Vault"
VPC = "aws:ec2/vpc:Vpc"
LASTING = immutable_guard.lasting()
OF_A_SITE = sorted(type_ for type_, one in LASTING.items() if one.with_site)
STORES = {type_ for type_ in LASTING if "storage" in type_ or "s3" in type_}
"""Object storage, which no program makes yet."""


def lab(**changes: Any) -> Environment:
    """Return the lab with a learner, whose disk lasts."""
    found = load(STACKS / "Pulumi.lab.yaml")
    learner = EtcdLearner(zone="2", machine_type="Standard_D8s_v5")
    etcd = found.control_plane.etcd.model_copy(update={"learner": learner})
    control = found.control_plane.model_copy(update={"etcd": etcd})
    return found.model_copy(update={"control_plane": control, **changes})


@cache
def program() -> Program:
    """Return what the lab's program declares; declared once for all tests."""
    return declare_whole(with_few_machines(lab()))


def delete(environment: Environment, type_: str, inputs: Mapping[str, Any] | None = None) -> None:
    immutable_guard.check_deletion(environment, type_=type_, name="it", inputs=inputs or {})


def of(site: str) -> dict[str, Any]:
    return {"tags": {SITE: site}}


def test_everything_waits_until_the_facts_are_agreed_on() -> None:
    providers = {one.name for one in program().clouds() if one.type.startswith("pulumi:providers:")}
    late = {one.name for one in program().clouds() if "lab-held" not in one.after}
    assert late == {"lab-held"} | providers


def test_the_facts_are_the_file_s() -> None:
    (remembered,) = program().of("pulumi-python:dynamic/longhaul:Held")
    found = plain(remembered.inputs["facts"])
    assert found["supernet"] == "10.64.0.0/12"
    assert found["sites.use1.range"] == "10.65.0.0/16"


@pytest.mark.parametrize("type_", sorted(LASTING.keys() - STORES))
def test_what_is_asked_about_is_what_the_program_makes(type_: str) -> None:
    made = program().of(type_)
    assert made
    if type_ in OF_A_SITE:
        assert all(plain(one.inputs["tags"])[SITE] in lab().sites for one in made)


def test_a_fact_that_is_changed_is_refused_and_one_that_is_new_is_not() -> None:
    provider = immutable_guard.ImmutableProvider()
    olds = {"environment": "lab", "facts": {"supernet": "a", "sites.x.range": "b"}}
    news = {"environment": "lab", "facts": {"supernet": "a", "sites.y.range": "c"}}
    assert provider.diff("lab", olds, news).changes
    assert provider.update("lab", olds, news).outs == news
    assert not provider.diff("lab", olds, olds).changes
    with pytest.raises(GuardRefusedError, match=r"(?s)lab must stay.*\n  supernet: a -> b\nTake that back\."):
        provider.update("lab", olds, {"environment": "lab", "facts": {"supernet": "b"}})


@pytest.mark.parametrize("type_", sorted(LASTING.keys() - set(OF_A_SITE)))
def test_what_lasts_stays_whatever_becomes_of_its_site(type_: str) -> None:
    for site in ("weu", "gone"):
        with pytest.raises(GuardRefusedError, match=r"it must stay: .*\n.*longhaul destroy --env lab"):
            delete(lab(), type_, of(site))


@pytest.mark.parametrize("type_", OF_A_SITE)
def test_a_network_goes_with_its_site_alone(type_: str) -> None:
    delete(lab(), type_, of("gone"))
    for inputs in (of("use1"), {}):
        with pytest.raises(GuardRefusedError, match="removed from the file"):
            delete(lab(), type_, inputs)


@pytest.mark.parametrize(
    ("destroyable", "said", "goes"), [(True, "lab", True), (False, "lab", False), (True, "prod", False)]
)
def test_all_goes_once_it_may_and_that_very_one_was_confirmed(
    monkeypatch: pytest.MonkeyPatch, destroyable: bool, said: str, goes: bool
) -> None:
    monkeypatch.setenv(DESTROY_VARIABLE, said)
    environment = lab(destroyable=destroyable)
    if goes:
        delete(environment, VAULT)
        delete(environment, VPC, of("use1"))
    else:
        with pytest.raises(GuardRefusedError):
            delete(environment, VAULT)
