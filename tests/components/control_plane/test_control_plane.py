"""The order in which the control plane's parts wait for each other. The lab has three members in each etcd cluster and
two API servers."""

from __future__ import annotations

from unittest import mock

import pytest

from clouds.azure.roles import SECRETS_USER
from components.control_plane.guard import guards
from components.environment.cluster import Cluster
from components.model import load, plan
from tests.support.declared import Declared, Program, declare
from tests.support.hosts import STACKS
from tests.support.whole import cloud, with_few_machines, without_hooks

MACHINE = "azure-native:compute:VirtualMachine"
IDENTITY = "azure-native:managedidentity:UserAssignedIdentity"
READINESS = "pulumi-python:dynamic/longhaul:Readiness"
FOUNDED = "pulumi-python:dynamic/longhaul:Founded"
SUBNET = "azure-native:network:Subnet"
ROLE_ASSIGNMENT = "azure-native:authorization:RoleAssignment"
ADMINISTRATOR = "00000000-0000-4000-8000-0000000000aa"
CERTIFICATE = "pulumi-python:dynamic/longhaul:Certificate"
"""Writes a secret again that a certificate has written before."""


@pytest.fixture(scope="module", name="program")
def _program() -> Program:
    lab = load(STACKS / "Pulumi.lab.yaml")
    site = lab.control_plane.site
    access = lab.access.model_copy(update={"administrators": {ADMINISTRATOR: "user"}})
    alone = lab.model_copy(update={"sites": {site: lab.sites[site]}, "pools": {}, "hosts": (), "access": access})
    with without_hooks():
        return declare(lambda: Cluster(alone).outputs, answer=cloud)


def _machines(program: Program, role: str) -> list[Declared]:
    return [machine for machine in program.of(MACHINE) if machine.name.startswith(f"lab-{role}-")]


def test_no_machine_waits_for_another(program: Program) -> None:
    machines = {machine.name for role in ("etcd", "events", "api") for machine in _machines(program, role)}
    assert len(machines) == 8
    ready = {readiness.name for readiness in program.of(READINESS)}
    assert ready == {f"{machine}-ready" for machine in machines}
    for machine in program.of(MACHINE):
        assert not machine.after & (machines | ready), machine.name


def test_a_machine_is_waited_for_once_all_that_it_needs_is_there(program: Program) -> None:
    # Whatever the number of servers: a wait holds one of the four workers of all dynamic resources.
    waits = {wait.name: wait for wait in program.of(READINESS)}
    for role in ("etcd", "events"):
        members = {machine.name for machine in _machines(program, role)}
        assert len(members) == 3
        for member in members:
            assert waits[f"{member}-ready"].after >= members
    for server in _machines(program, "api"):
        assert waits[f"{server.name}-ready"].after >= {server.name, f"{server.name}-etcd-client"}


def test_identities_that_a_policy_adds_to_a_machine_stay(program: Program) -> None:
    for machine in program.of(MACHINE):
        assert machine.inputs["identity"]["type"] == "UserAssigned"
        assert "identity" in machine.ignored


def test_the_machines_program_finds_its_identity_by_its_own_name(program: Program) -> None:
    """images/rootfs/usr/local/lib/longhaul/machine/managed_identity.py derives the one's id from the other's."""
    places = {(one.inputs["resourceGroupName"], one.inputs["resourceName"]) for one in program.of(IDENTITY)}
    machines = {(one.inputs["resourceGroupName"], one.inputs["vmName"]) for one in program.of(MACHINE)}
    assert places == machines | {(group, f"{name}-autoscaler") for group, name in machines if "-api-" in name}


def test_every_place_that_a_machine_may_have_is_guarded() -> None:
    lab = load(STACKS / "Pulumi.lab.yaml")
    with mock.patch("components.control_plane.guard.ResourceHook", side_effect=lambda name, _callback: name):
        found = guards(lab, plan(lab))
    names = {machine: binding.before_delete for machine, binding in found.items()}
    stores = {f"lab-{role}-{index}": "keeps-quorum" for role in ("etcd", "events") for index in range(7)}
    servers = {f"lab-api-{index}": "leaves" for index in range(15)}
    vpn = {f"lab-vpn-{index}": "goes" for index in range(2)}
    assert names == {machine: [f"{machine}-{guard}"] for machine, guard in {**stores, **servers, **vpn}.items()}


def test_a_store_exists_once_all_its_members_are_ready(program: Program) -> None:
    for role in ("etcd", "events"):
        (note,) = [note for note in program.of(FOUNDED) if note.name == f"lab-{role}-founded"]
        assert note.after >= {f"{machine.name}-ready" for machine in _machines(program, role)}


def test_nobody_gets_the_credential_for_the_stores_before_they_exist(program: Program) -> None:
    credentials = [c for c in program.of(CERTIFICATE) if c.name.endswith("-etcd-client")]
    assert len(credentials) == len(_machines(program, "api"))
    for credential in credentials:
        assert credential.after >= {"lab-etcd-founded", "lab-events-founded"}
    for machine in _machines(program, "api"):
        assert f"{machine.name}-etcd-client" not in machine.after, "it starts meanwhile"
        assert f"{machine.name}-reads-{machine.name}-apiserver" in machine.after


def test_a_right_on_a_secret_comes_after_the_secret(program: Program) -> None:
    writers = {
        str(one.inputs[key]): one.name
        for one in program.resources
        for key in ("secret", "trust_secret")
        if one.type.startswith("pulumi-python:dynamic/longhaul:") and one.inputs.get(key)
    }
    rights = [one for one in program.of(ROLE_ASSIGNMENT) if "/secrets/" in one.inputs["scope"]]
    assert len(rights) > 40
    for right in rights:
        assert writers[right.inputs["scope"].rpartition("/")[2]] in right.after, right.name


def test_an_administrator_reads_what_a_certificate_is_made_of_and_nothing_else(program: Program) -> None:
    rights = [one for one in program.of(ROLE_ASSIGNMENT) if one.inputs["principalId"] == ADMINISTRATOR]
    assert {one.inputs["scope"].rpartition("/secrets/")[2] for one in rights} == {
        "ca-administrators",
        "trust-kubernetes",
    }
    assert {one.inputs["roleDefinitionId"].rpartition("/")[2] for one in rights} == {SECRETS_USER}
    assert {one.inputs["principalType"] for one in rights} == {"User"}


def test_a_servers_time_to_get_ready_begins_with_its_last_right(program: Program) -> None:
    ready = {one.name: one for one in program.of(READINESS)}
    for machine in _machines(program, "api"):
        late = f"{machine.name}-reads-{machine.name}-etcd-client"
        assert late in ready[f"{machine.name}-ready"].after
        assert late not in machine.after


def test_no_subnet_is_written_while_the_vault_is() -> None:
    lab = load(STACKS / "Pulumi.lab.yaml")
    few = with_few_machines(lab)
    with without_hooks():
        program = declare(lambda: Cluster(few).outputs, answer=cloud)
    site = lab.control_plane.site
    (vault,) = program.of("azure-native:keyvault:Vault")
    subnets = {one.name: one for one in program.of(SUBNET) if site in one.name}
    before = {f"lab-{site}-{part}" for part in ("etcd", "events", "api", "nodes")}
    assert before <= vault.after
    later = subnets.keys() - before
    assert later
    for name in later:
        assert vault.name in subnets[name].after, name
