"""Machines of the laptops' VPN: declared for who wants them, with the least rights, and nothing else changes."""

from __future__ import annotations

import json

import pytest

from components.model import Environment, certificates, load, plan
from components.model.policy.judging import policies
from components.model.vpn.section import Vpn
from longhaul.client.profile import Inside
from longhaul.client.profile import ProfileVpn as Profile
from tests.components.policy.samples import resources
from tests.support.declared import Program
from tests.support.hosts import STACKS
from tests.support.whole import declare_whole

MACHINES = ("lab-vpn-0", "lab-vpn-1")
SECRETS = {"ca-vpn", "revoked", "trust-kubernetes", "trust-vpn", "vpn-key", "vpn-remotes"}
GRANT = "azure-native:authorization:RoleAssignment"


@pytest.fixture(scope="module", name="lab")
def _lab() -> Environment:
    lab = load(STACKS / "Pulumi.lab.yaml")
    site = lab.control_plane.site
    return lab.model_copy(update={"sites": {site: lab.sites[site]}, "pools": {}, "hosts": (), "vpn": None})


@pytest.fixture(scope="module", name="with_vpn")
def _with_vpn(lab: Environment) -> Environment:
    return lab.model_copy(update={"vpn": Vpn(machine_type="Standard_D2s_v5", name="vpn.example.com")})


@pytest.fixture(scope="module", name="program")
def _program(with_vpn: Environment) -> Program:
    return declare_whole(with_vpn)


def test_no_other_machine_is_made_anew(lab: Environment, program: Program) -> None:
    machine = "azure-native:compute:VirtualMachine"
    before = {one.name: one.inputs for one in declare_whole(lab).of(machine)}
    after = {one.name: one.inputs for one in program.of(machine)}
    assert after.keys() - before.keys() == set(MACHINES)
    assert {name: after[name] for name in before} == before


def test_each_reads_its_own_secrets_and_the_vpn_s(with_vpn: Environment, program: Program) -> None:
    held = {one.holder: set[str]() for one in certificates(with_vpn, plan(with_vpn))}
    for one in certificates(with_vpn, plan(with_vpn)):
        held[one.holder].add(one.name)
    for machine in MACHINES:
        start = f"{machine}-reads-"
        read = {one.name.removeprefix(start) for one in program.of(GRANT) if one.name.startswith(start)}
        assert read == held[machine] | SECRETS


def test_the_endpoint_s_certificate_has_no_name_that_laptops_take_for_openvpn_s(with_vpn: Environment) -> None:
    for machine in MACHINES:
        held = {one.part: one for one in certificates(with_vpn, plan(with_vpn)) if one.holder == machine}
        own, door = held["vpn"], held["vpn-door"]
        inside = Inside(range="10.0.0.0/8", dns="10.0.0.2", zones=())
        known = Profile(endpoints=("https://x",), authority="", name=own.common_name, inside=inside)
        assert (door.common_name, door.dns_names) == (known.sign_in_name, (known.sign_in_name,))
        assert own.common_name not in {door.common_name, *door.dns_names}


@pytest.mark.parametrize("secret", ["ca-vpn", "trust-vpn", "vpn-key", "vpn-remotes"])
def test_the_vpn_s_secrets_are_read_by_its_machines_alone(program: Program, secret: str) -> None:
    readers = {one.name for one in program.of(GRANT) if one.inputs["scope"].endswith(f"/secrets/{secret}")}
    assert readers == {f"{machine}-reads-{secret}" for machine in MACHINES}


def test_each_has_an_address_and_laptops_are_told(program: Program) -> None:
    interfaces = {
        one.name: one.inputs["ipConfigurations"] for one in program.of("azure-native:network:NetworkInterface")
    }
    public = {name for name, (own,) in interfaces.items() if own.get("publicIPAddress")}
    assert public == {f"{machine}-interface" for machine in MACHINES}
    (told,) = (one for one in program.of("pulumi-python:dynamic/longhaul:Setting") if one.name == "lab-vpn-remotes")
    assert json.loads(told.inputs["value"])[0] == {"address": "vpn.example.com", "port": 1194}
    assert len(json.loads(told.inputs["value"])) == 3


def test_laptops_are_let_in_at_two_doors_and_nowhere_else(program: Program) -> None:
    (rules,) = (
        one for one in program.of("azure-native:network:NetworkSecurityGroup") if one.name == "lab-weu-vpn-rules"
    )
    let_in = {
        (rule["protocol"], *rule["destinationPortRanges"], rule.get("sourceAddressPrefix"))
        for rule in rules.inputs["securityRules"]
        if rule["direction"] == "Inbound" and rule["access"] == "Allow"
    }
    assert let_in == {("Udp", "1194", "Internet"), ("Tcp", "443", "Internet")}


def test_it_breaks_no_policy_where_it_is_declared(lab: Environment, with_vpn: Environment, program: Program) -> None:
    declared = resources(program, stack="lab")
    assert [one for one in policies(with_vpn).judge(declared).findings if "vpn" in str(one.where)] == []
    found = {one.check for one in policies(lab).judge(declared).findings if "vpn" in str(one.where)}
    assert found == {"public-address", "public-interface", "ingress"}


def test_machines_start_when_there_is_an_api_and_all_they_need(program: Program) -> None:
    for machine in MACHINES:
        (own,) = (one for one in program.of("azure-native:compute:VirtualMachine") if one.name == machine)
        assert {f"{machine}-reads-{secret}" for secret in SECRETS} <= own.after
        assert any(name.startswith("lab-api-") and name.endswith("-ready") for name in own.after)
