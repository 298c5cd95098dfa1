"""The whole environment: the values that connect its parts."""

from __future__ import annotations

import base64
import json
from functools import cache
from typing import Any

import yaml

from clouds.base.pool_section import Pool
from components.model import Environment, load
from tests.support.declared import Program, plain
from tests.support.hosts import STACKS
from tests.support.whole import CA, declare_whole, with_few_machines


@cache
def environment() -> Environment:
    """Return the lab's environment with a pool in Azure too, and the smallest control plane."""
    lab = load(STACKS / "Pulumi.lab.yaml")
    pools = {**lab.pools, "gpu": Pool(site=lab.control_plane.site, machine_type="Standard_NC24ads_A100_v4", max=4)}
    return with_few_machines(lab).model_copy(update={"pools": pools})


@cache
def program() -> Program:
    """Return the declared program; declared once for all tests."""
    return declare_whole(environment())


def user_data() -> dict[str, Any]:
    """Return each pool's user data as it is sent to the cloud."""
    found = {}
    for template in program().of("aws:ec2/launchTemplate:LaunchTemplate"):
        found[template.inputs["name"]] = template.inputs["userData"]
    for scale_set in program().of("azure-native:compute:VirtualMachineScaleSet"):
        profile = scale_set.inputs["virtualMachineProfile"]
        found[scale_set.inputs["vmScaleSetName"]] = plain(profile)["osProfile"]["customData"]
    return {group.removeprefix("lab-"): plain(data) for group, data in found.items()}


def test_every_pool_starts_with_the_authority_and_knows_where_to_join() -> None:
    found = user_data()
    assert set(found) == {"cpu", "gpu"}
    for data in found.values():
        text = base64.b64decode(data).decode()
        files = {entry["path"]: entry["content"] for entry in yaml.safe_load(text)["write_files"]}
        assert files["/etc/longhaul/pki/kubernetes-ca.crt"] == CA
        assert json.loads(files["/etc/longhaul/node.json"])["join"] == {
            "address": "10.64.3.5",
            "port": 6444,
            "name": f"join.{environment().domain}",
            "cluster": "lab",
        }
        assert "/etc/longhaul/join.kubeconfig" not in files


def test_no_token_is_made_or_exported() -> None:
    assert not [one.name for one in program().resources if "token" in one.type.lower()]
    assert "join_tokens" not in program().outputs


def test_the_node_controller_s_role_is_exported() -> None:
    assert program().outputs["node_controller_role"] == "lab-node-controller-role-arn"


def test_the_autoscaler_s_role_is_exported() -> None:
    assert program().outputs["autoscaler_role"] == "lab-autoscaler-role-arn"


def test_the_autoscaler_has_an_identity_of_its_own_on_each_api_server() -> None:
    """Neither may the node controller size a pool, nor the autoscaler read the vault."""
    identities = {one.name for one in program().of("azure-native:managedidentity:UserAssignedIdentity")}
    assert "lab-api-0-autoscaler-identity" in identities
    (machine,) = [one for one in program().of("azure-native:compute:VirtualMachine") if one.name == "lab-api-0"]
    assert len(machine.inputs["identity"]["userAssignedIdentities"]) == 2
    (member,) = [one for one in program().of("azure-native:compute:VirtualMachine") if one.name == "lab-etcd-0"]
    assert len(member.inputs["identity"]["userAssignedIdentities"]) == 1


def test_a_network_is_encrypted_where_the_file_says_so() -> None:
    type_ = "azure-native:network:VirtualNetwork"
    (plain_one,) = program().of(type_)
    assert "encryption" not in plain_one.inputs
    sites = {
        name: site.model_copy(update={"encrypted": True}) if site.kind == "azure" else site
        for name, site in environment().sites.items()
    }
    (encrypted,) = declare_whole(environment().model_copy(update={"sites": sites})).of(type_)
    assert plain(encrypted.inputs["encryption"]) == {"enabled": True, "enforcement": "AllowUnencrypted"}
