"""Resources that break or keep a rule, declared with the clouds' own SDKs: a property that no SDK has cannot be written
here. Each is named ``<rule>/<case>``."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import pulumi_aws as aws
from pulumi_azure_native import authorization, compute, keyvault, network, storage

from clouds.base.policy import Resource
from tests.support.declared import Outputs, Program, declare

TAGS = {"longhaul-environment": "lab", "longhaul-site": "weu", "team": "research"}
SUPERNET, OPERATORS, OPERATORS_INSIDE = "10.64.0.0/12", "198.51.100.0/28", "192.168.7.0/24"
GROUP: dict[str, Any] = {"resource_group_name": "lab-weu"}
REGION: dict[str, Any] = {"region": "us-east-1"}
ROLES = "/subscriptions/s/providers/Microsoft.Authorization/roleDefinitions"

OPTIONS = aws.ec2.LaunchTemplateMetadataOptionsArgs
DISK = aws.ec2.LaunchTemplateBlockDeviceMappingArgs
EBS = aws.ec2.LaunchTemplateBlockDeviceMappingEbsArgs
INTERFACE = aws.ec2.LaunchTemplateNetworkInterfaceArgs
SPECIFICATION = aws.ec2.LaunchTemplateTagSpecificationArgs

Make = Callable[[], object]


def template(name: str, **changed: Any) -> Make:
    """Return a maker of a launch template that keeps every rule, except for what is changed."""
    pool = {**TAGS, "longhaul-pool": "cpu"}
    right: dict[str, Any] = {
        "metadata_options": OPTIONS(http_tokens="required", http_put_response_hop_limit=1),
        "block_device_mappings": [DISK(device_name="/dev/sda1", ebs=EBS(encrypted="true"))],
        "network_interfaces": [INTERFACE(associate_public_ip_address="false")],
        "tag_specifications": [SPECIFICATION(resource_type="volume", tags=pool)],
        "tags": pool,
    }
    return lambda: aws.ec2.LaunchTemplate(name, **REGION, **{**right, **changed})


def instance(name: str, **changed: Any) -> Make:
    right: dict[str, Any] = {
        "associate_public_ip_address": False,
        "metadata_options": aws.ec2.InstanceMetadataOptionsArgs(http_tokens="required", http_put_response_hop_limit=1),
        "root_block_device": aws.ec2.InstanceRootBlockDeviceArgs(encrypted=True),
        "tags": TAGS,
    }
    return lambda: aws.ec2.Instance(name, **REGION, **{**right, **changed})


def machine(name: str, *, profile: Mapping[str, Any] | None = None, **changed: Any) -> Make:
    linux = compute.LinuxConfigurationArgs(disable_password_authentication=True)
    right: dict[str, Any] = {
        "security_profile": compute.SecurityProfileArgs(encryption_at_host=True),
        "os_profile": compute.OSProfileArgs(**{"linux_configuration": linux, **(profile or {})}),
        "tags": {**TAGS, "longhaul-role": "etcd"},
    }
    return lambda: compute.VirtualMachine(name, **GROUP, **{**right, **changed})


def scale_set(name: str, *, profile: Mapping[str, Any] | None = None, **changed: Any) -> Make:
    linux = compute.LinuxConfigurationArgs(disable_password_authentication=True)
    inside: dict[str, Any] = {
        "security_profile": compute.SecurityProfileArgs(encryption_at_host=True),
        "os_profile": compute.VirtualMachineScaleSetOSProfileArgs(linux_configuration=linux),
        **(profile or {}),
    }
    right: dict[str, Any] = {
        "virtual_machine_profile": compute.VirtualMachineScaleSetVMProfileArgs(**inside),
        "tags": {**TAGS, "longhaul-pool": "gpu"},
    }
    return lambda: compute.VirtualMachineScaleSet(name, **GROUP, **{**right, **changed})


def vault(name: str, *, acls: Mapping[str, Any] | None = None, **changed: Any) -> Make:
    rules = {"bypass": "None", "default_action": "Deny", "ip_rules": [keyvault.IPRuleArgs(value=OPERATORS)]}
    right: dict[str, Any] = {
        "tenant_id": "t",
        "sku": keyvault.SkuArgs(family="A", name=keyvault.SkuName.STANDARD),
        "enable_rbac_authorization": True,
        "enable_soft_delete": True,
        "enable_purge_protection": True,
        "network_acls": keyvault.NetworkRuleSetArgs(**{**rules, **(acls or {})}),
    }
    properties = keyvault.VaultPropertiesArgs(**{**right, **changed})
    return lambda: keyvault.Vault(name, **GROUP, properties=properties, tags=TAGS)


def account(name: str, **changed: Any) -> Make:
    right: dict[str, Any] = {
        "allow_blob_public_access": False,
        "minimum_tls_version": "TLS1_2",
        "network_rule_set": storage.NetworkRuleSetArgs(bypass="None", default_action="Deny"),
        "tags": TAGS,
    }
    sku = storage.SkuArgs(name="Standard_LRS")
    return lambda: storage.StorageAccount(name, **GROUP, kind="StorageV2", sku=sku, **{**right, **changed})


def rules(name: str, **rule: Any) -> Make:
    """Return a maker of an Azure security group with one rule, which allows incoming traffic."""
    right: dict[str, Any] = {"direction": "Inbound", "access": "Allow", "protocol": "Tcp", "priority": 100}
    ports = {"source_port_range": "*", "destination_port_ranges": ["6443"], "destination_address_prefix": "*"}
    one = network.SecurityRuleArgs(**{"name": "one", **right, **ports, **rule})
    return lambda: network.NetworkSecurityGroup(name, **GROUP, security_rules=[one], tags=TAGS)


def group_rule(name: str, **rule: Any) -> Make:
    """Return a maker of a rule of an AWS security group, which allows incoming traffic."""
    right: dict[str, Any] = {"security_group_id": "sg", "ip_protocol": "tcp", "from_port": 22, "to_port": 22}
    return lambda: aws.vpc.SecurityGroupIngressRule(name, **REGION, **{**right, **rule}, tags=TAGS)


def document(**statement: Any) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", **statement}]})


def grant(name: str, **statement: Any) -> Make:
    return lambda: aws.iam.RolePolicy(name, role="r", policy=document(**statement))


def role(name: str, *, trust: Mapping[str, Any] | None = None, **more: Any) -> Make:
    ec2 = {"Principal": {"Service": "ec2.amazonaws.com"}, "Action": "sts:AssumeRole"}
    return lambda: aws.iam.Role(name, assume_role_policy=document(**(trust or ec2)), tags=TAGS, **more)


def federated(**condition: Any) -> dict[str, Any]:
    provider = {"Principal": {"Federated": "arn:aws:iam::1:oidc-provider/sts.windows.net/t/"}}
    return {**provider, "Action": "sts:AssumeRoleWithWebIdentity", "Condition": condition}


def assignment(name: str, **changed: Any) -> Make:
    right = {
        "scope": "/subscriptions/s/resourceGroups/lab-weu",
        "role_definition_id": f"{ROLES}/acdd72a7-3385-48ef-bd42-f606fba81ae7",
    }
    return lambda: authorization.RoleAssignment(name, principal_id="p", **{**right, **changed})


def definition(name: str, **permission: Any) -> Make:
    permissions = [authorization.PermissionArgs(**permission)]
    return lambda: authorization.RoleDefinition(name, scope="/subscriptions/s", permissions=permissions)


def packed(text: str) -> str:
    """Return text compressed with gzip and encoded as a cloud takes it."""
    return base64.b64encode(gzip.compress(text.encode())).decode()


def cloud_config(content: str, *, encoding: str = "") -> str:
    """Return user data with one file, encoded as a cloud takes it."""
    file = {"path": "/etc/one", "content": content, **({"encoding": encoding} if encoding else {})}
    return base64.b64encode(f"#cloud-config\n{json.dumps({'write_files': [file]}, indent=1)}\n".encode()).decode()


KEY = "-----BEGIN EC PRIVATE KEY-----\nMHcCAQEE\n-----END EC PRIVATE KEY-----\n"
CERTIFICATE = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"


@cache
def declared_samples() -> tuple[Resource, ...]:
    """Return every sample; declared once for all tests."""
    from tests.components.policy import right_samples, wrong_samples

    def build() -> Outputs:
        for make in (*right_samples.makers(), *wrong_samples.makers()):
            make()
        return {}

    return resources(declare(build), stack="lab")


def resources(program: Program, *, stack: str) -> tuple[Resource, ...]:
    """Return the declared resources in the form that a check takes."""
    return tuple(
        Resource(
            urn=f"urn:pulumi:{stack}::longhaul::{one.type}::{one.name}", type=one.type, name=one.name, inputs=one.inputs
        )
        for one in program.clouds()
    )
