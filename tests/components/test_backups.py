"""Backups are declared for who wants them, and change nothing for whoever does not."""

from __future__ import annotations

import json

import pytest

from clouds.azure.roles import BLOB_CONTRIBUTOR, BLOB_READER
from components.azure.conditions import own_backups
from components.model import Environment, control_machines, load, plan
from components.model.backups.section import Backups
from components.model.backups.storage import account_name
from components.model.policy.judging import policies
from tests.components.policy.samples import resources
from tests.support.declared import Program
from tests.support.hosts import STACKS
from tests.support.whole import declare_whole

KEY = "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"


@pytest.fixture(scope="module", name="lab")
def _lab() -> Environment:
    lab = load(STACKS / "Pulumi.lab.yaml")
    site = lab.control_plane.site
    return lab.model_copy(update={"sites": {site: lab.sites[site]}, "pools": {}, "hosts": (), "backups": None})


@pytest.fixture(scope="module", name="program")
def _program(lab: Environment) -> Program:
    backups = Backups(recipients=(KEY,), every_minutes=10, daily_days=30)
    return declare_whole(lab.model_copy(update={"backups": backups}))


def test_no_machine_is_made_anew_for_backups(lab: Environment, program: Program) -> None:
    machine = "azure-native:compute:VirtualMachine"
    before = {one.name: one.inputs for one in declare_whole(lab).of(machine)}
    assert {one.name: one.inputs for one in program.of(machine)} == before


def test_the_account_is_closed_and_keeps_what_it_has(lab: Environment, program: Program) -> None:
    (account,) = program.of("azure-native:storage:StorageAccount")
    assert account.inputs["accountName"] == account_name(lab)
    assert not account.inputs["allowSharedKeyAccess"]
    rules = account.inputs["networkRuleSet"]
    assert (rules["defaultAction"], len(rules["virtualNetworkRules"])) == ("Deny", 2)
    # Azure refuses the range of one address that the file has.
    assert [rule["iPAddressOrRange"] for rule in rules["ipRules"]] == ["198.51.100.2"]
    kept = {one.name: one.inputs["days"] for one in program.of("pulumi-python:dynamic/longhaul:Retention")}
    assert kept == {f"lab-backups-{name}-retention": days for name, days in kinds().items()}
    (expiry,) = program.of("azure-native:storage:ManagementPolicy")
    rules = {
        rule["definition"]["filters"]["prefixMatch"][0]: rule["definition"]["actions"]["baseBlob"]["delete"]
        for rule in expiry.inputs["policy"]["rules"]
    }
    assert rules == {f"{name}/": {"daysAfterCreationGreaterThan": days} for name, days in kinds().items()}


def test_nothing_of_it_goes_before_the_environment_may(program: Program) -> None:
    (guard,) = program.of("pulumi-python:dynamic/longhaul:DestructionGuard")
    kept = {one.name for one in program.of("pulumi-python:dynamic/longhaul:Retention")}
    assert kept
    assert kept <= set(guard.after)


def test_nobody_stores_a_backup_before_the_retention_is_set(program: Program) -> None:
    retentions = {one.name for one in program.of("pulumi-python:dynamic/longhaul:Retention")}
    grants = [
        grant
        for grant in program.of("azure-native:authorization:RoleAssignment")
        if BLOB_CONTRIBUTOR in grant.inputs["roleDefinitionId"]
    ]
    assert len(grants) == 6
    assert all(retentions <= set(grant.after) for grant in grants)


def test_backups_break_no_policy(lab: Environment, program: Program) -> None:
    declared = lab.model_copy(update={"backups": Backups(recipients=(KEY,))})
    findings = policies(declared).judge(resources(program, stack="lab")).findings
    assert [one for one in findings if "backups" in str(one.where)] == []


def kinds() -> dict[str, int]:
    return {"frequent": 1, "hourly": 7, "daily": 30}


def test_members_may_read_and_make_their_own_etcd_cluster_s_and_delete_none(lab: Environment, program: Program) -> None:
    grants = {
        one.name.removeprefix("lab-backups-"): (one.inputs["roleDefinitionId"][-36:], one.inputs.get("condition"))
        for one in program.of("azure-native:authorization:RoleAssignment")
        if one.name.startswith("lab-backups-")
    }
    members = [one for one in control_machines(lab, plan(lab)) if one.role.is_etcd]
    assert len(members) == 6
    officer = "officer-00000000-0000-4000-8000-000000000003"
    narrow = {one.name: (BLOB_CONTRIBUTOR, own_backups(one)) for one in members}
    assert grants == {officer: (BLOB_READER, None), **narrow}


def test_members_and_no_others_read_what_they_are_told(program: Program) -> None:
    settings = [one.inputs["value"] for one in program.of("pulumi-python:dynamic/longhaul:Setting")]
    (told,) = (found for found in map(json.loads, settings) if "every_s" in found)
    assert (told["every_s"], told["recipients"]) == (600, [KEY])
    readers = {
        one.name
        for one in program.of("azure-native:authorization:RoleAssignment")
        if one.name.endswith("-reads-backups")
    }
    assert readers == {f"lab-{role}-{index}-reads-backups" for role in ("etcd", "events") for index in range(3)}
    subnets = {one.name: one.inputs.get("serviceEndpoints") for one in program.of("azure-native:network:Subnet")}
    storage = {name for name, found in subnets.items() if {"service": "Microsoft.Storage"} in (found or [])}
    assert storage == {"lab-weu-etcd", "lab-weu-events", "lab-weu-nodes"}
