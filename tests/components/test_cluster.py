"""The whole environment: what ties its parts together."""

from __future__ import annotations

import base64
import re
from functools import cache
from typing import Any
from unittest import mock

import yaml

from components.cluster import Cluster
from components.model import Environment, load
from components.model.environment import Pool
from tests.support import production
from tests.support.declared import Declared, Program, declare, open_text, plain
from tests.support.hosts import STACKS

CA = "-----BEGIN CERTIFICATE-----\nthe authority's\n-----END CERTIFICATE-----\n"
TOKEN = re.compile(r"aaaaaa\.0{12}[a-z]+")


def cloud(resource: Declared) -> dict[str, Any]:
    """What clouds and vault answer."""
    match resource.type.rpartition(":")[2]:
        case "CertificateAuthority":
            return {"certificate": CA, "fingerprint": "ab"}
        case "Certificate":
            return {"certificate": CA, "not_after": "2030-01-01T00:00:00+00:00"}
        case "JoinToken":
            return {"value": f"aaaaaa.000000000000{resource.inputs['secret'].removeprefix('join-')}"}
        case "TunnelKey":
            return {"value": "key"}
        case "ResourceGroup":
            return {"name": resource.inputs["resourceGroupName"]}
        case "VirtualMachine":
            # What goes in as a list of identities comes back as a map.
            return {"identity": {"userAssignedIdentities": {}}, "vmId": resource.name}
        case "UserAssignedIdentity":
            return {"principalId": f"{resource.name}-principal"}
    return production.cloud(resource)


@cache
def environment() -> Environment:
    """The lab's, with a pool in Azure too, and no more control plane than it takes."""
    lab = load(STACKS / "Pulumi.lab.yaml")
    control = lab.control_plane
    small = {
        "etcd": control.etcd.model_copy(update={"members": 1}),
        "events": control.events.model_copy(update={"members": 1}),
        "api": control.api.model_copy(update={"servers": 1}),
    }
    pools = {**lab.pools, "gpu": Pool(site=control.site, machine_type="Standard_NC24ads_A100_v4", max=4)}
    return lab.model_copy(update={"control_plane": control.model_copy(update=small), "pools": pools})


@cache
def program() -> Program:
    """What it declares; the same run for every test. Without the hooks, which only an engine can call."""
    with mock.patch("components.control_plane.guards", return_value={}):
        return declare(lambda: Cluster(environment()).outputs, answer=cloud)


def user_data() -> dict[str, Any]:
    """By pool, what its machines start with, as it is sent to the cloud."""
    found = {}
    for template in program().of("aws:ec2/launchTemplate:LaunchTemplate"):
        found[template.inputs["name"]] = template.inputs["userData"]
    for scale_set in program().of("azure-native:compute:VirtualMachineScaleSet"):
        profile = scale_set.inputs["virtualMachineProfile"]
        found[scale_set.inputs["vmScaleSetName"]] = plain(profile)["osProfile"]["customData"]
    return {group.removeprefix("lab-"): plain(data) for group, data in found.items()}


def test_every_pool_starts_with_its_own_token_and_the_authority() -> None:
    found = user_data()
    assert set(found) == {"cpu", "gpu"}
    for pool, data in found.items():
        text = base64.b64decode(data).decode()
        files = {entry["path"]: entry["content"] for entry in yaml.safe_load(text)["write_files"]}
        assert files["/etc/longhaul/pki/kubernetes-ca.crt"] == CA
        assert TOKEN.findall(text) == [f"aaaaaa.000000000000{pool}"]


def test_a_token_is_nowhere_in_plain() -> None:
    encoded = set(user_data().values())
    for resource in program().resources:
        shown = open_text(resource.inputs)
        assert not TOKEN.search(shown), resource.name
        assert not any(data in shown for data in encoded), resource.name
    tokens = program().outputs["join_tokens"]
    assert {pool: bool(TOKEN.fullmatch(token)) for pool, token in tokens.items()} == {"cpu": True, "gpu": True}
    assert program().secret["join_tokens"] is True


def test_a_token_is_its_pool_s_alone_and_stays() -> None:
    """Nothing about the pool's machines is among what it is made of."""
    tokens = [resource for resource in program().resources if resource.type.endswith(":JoinToken")]
    assert {token.inputs["secret"] for token in tokens} == {"join-cpu", "join-gpu"}
    for token in tokens:
        assert set(token.inputs) - {"__provider"} == {"vault_url", "secret"}


def test_the_node_controller_s_role_is_exported() -> None:
    assert program().outputs["node_controller_role"] == "lab-node-controller-role-arn"
