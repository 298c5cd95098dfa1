"""Inputs that are deliberately wrong are each caught. The words say where the fault is and what is allowed."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.contracts import aws_model
from tests.contracts.aws_policies import check_policy
from tests.contracts.contracts import NoContractError, faults
from tests.contracts.environments import declared
from tests.support.declared import Declared

Change = Callable[[dict[str, Any]], None]
"""A function that makes inputs wrong."""


def at(path: str, value: Any) -> Change:
    """Return a change that sets the value at ``path``, or removes it when ``value`` is ``...``."""
    *way, last = path.split(".")

    def change(inputs: dict[str, Any]) -> None:
        here: Any = inputs
        for step in way:
            here = here[int(step) if step.isdigit() else step]
        if value is ...:
            del here[last]
        else:
            here[last] = value

    return change


def of_type(type_: str) -> Declared:
    """Return the first resource whose type ends with ``type_``."""
    return next(one for one in declared("everything") if one.type.endswith(type_))


WRONG = {
    "azure, no such property": (
        "network:NatGateway", at("idleTimeout", 4), "idleTimeout is 4", "idleTimeoutInMinutes",
    ),
    "azure, no such nested property": (
        "network:LoadBalancer", at("probes.0.path", "/readyz"), "probes[0].path is '/readyz'", "requestPath",
    ),
    "azure, no such choice": (
        "network:NetworkSecurityGroup", at("securityRules.1.access", "Permit"),
        "securityRules[1].access is 'Permit'", "one of 'Allow', 'Deny'",
    ),
    "azure, another kind": (
        "network:NetworkInterface", at("enableAcceleratedNetworking", "yes"),
        "enableAcceleratedNetworking is 'yes'", "it takes bool",
    ),
    "azure, a list for a text": (
        "network:Subnet", at("addressPrefix", ["10.0.0.0/24"]), "addressPrefix is ['10.0.0.0/24']", "it takes str",
    ),
    "azure, part of a number": (
        "network:NetworkSecurityGroup", at("securityRules.0.priority", 100.5),
        "securityRules[0].priority is 100.5", "it takes int",
    ),
    "azure, not given": (
        "network:NetworkSecurityGroup", at("securityRules.0.direction", ...),
        "securityRules[0].direction is None", "SecurityRuleArgs requires it",
    ),
    "azure, out of range": (
        "network:NetworkSecurityGroup", at("securityRules.0.priority", 99),
        "securityRules[0].priority is 99", "between 100 and 4096",
    ),
    "azure, too long": (
        "keyvault:Vault", at("vaultName", "lh-" + "long" * 6), "vaultName is 'lh-long", "3 to 24 characters",
    ),
    "azure, too many bytes": (
        "compute:VirtualMachine", at("osProfile.customData", "AAAA" * 21_846),
        "osProfile.customData is 'AAAA", "maximum length of the binary array is 65535 bytes",
    ),
    "azure, no characters of a name": (
        "network:VirtualNetwork", at("virtualNetworkName", "prod:weu"), "virtualNetworkName is 'prod:weu'", "match",
    ),
    "azure, a name of the provider's making": (
        "network:LoadBalancer", at("loadBalancerName", ...), "loadBalancerName is None", "a name of our own",
    ),
    "azure, two zones of an address": (
        "network:PublicIPAddress", at("zones", ["1", "2"]), "zones is ['1', '2']", "one zone, or all three",
    ),
    "azure, two zones of a frontend": (
        "network:LoadBalancer", at("frontendIPConfigurations.0.zones", ["2", "1"]),
        "frontendIPConfigurations[0].zones is ['2', '1']", "one zone, or all three",
    ),
    "aws, no such property": (
        "ec2/subnet:Subnet", at("cidr", "10.1.0.0/24"), "cidr is '10.1.0.0/24'", "no such property, only",
    ),
    "aws, no such choice": (
        "LaunchTemplate", at("metadataOptions.httpTokens", "always"), "metadataOptions is 'always'",
        "MetadataOptions.HttpTokens: one of 'optional', 'required'",
    ),
    "aws, no such choice of a plain text": (
        "SubnetCidrReservation", at("reservationType", "pods"), "reservationType is 'pods'", "'prefix', 'explicit'",
    ),
    "aws, no such machine": (
        "LaunchTemplate", at("instanceType", "p5.47xlarge"), "instanceType is 'p5.47xlarge'", "'p5.48xlarge'",
    ),
    "aws, another kind": (
        "autoscaling/group:Group", at("maxSize", "many"), "maxSize is 'many'", "it takes int",
    ),
    "aws, not given": (
        "SubnetCidrReservation", at("reservationType", ...), "reservationType is None", "requires it",
    ),
    "aws, not given to the API": (
        "ec2/vpnConnection:VpnConnection", at("customerGatewayId", ...), "customerGatewayId is None", "requires it",
    ),
    "aws, characters that the API refuses": (
        "SecurityGroupEgressRule", at("description", "the zone's gateway"),
        '''description is "the zone's gateway"''', "Allowed characters are a-z, A-Z, 0-9, spaces",
    ),
    "aws, too long": (
        "iam/role:Role", at("name", "node-" * 13), "name is 'node-node", "RoleName: 1 to 64 characters",
    ),
    "aws, no characters of a name": (
        "iam/role:Role", at("name", "prod node"), "name is 'prod node'", "it has to match [\\w+=,.@-]+",
    ),
    "aws, too little": (
        "iam/role:Role", at("maxSessionDuration", 60), "maxSessionDuration is 60", "valid min value: 3600",
    ),
    "aws, too much": (
        "iam/role:Role", at("maxSessionDuration", 43_201), "maxSessionDuration is 43201", "3600 to 43200",
    ),
    "aws, out of a range that is said in words": (
        "ec2/vpnConnection:VpnConnection", at("tunnel2Phase2LifetimeSeconds", 7200),
        "tunnel2Phase2LifetimeSeconds is 7200", "A value between 900 and 3,600.",
    ),
    "aws, no such algorithm": (
        "ec2/vpnConnection:VpnConnection", at("tunnel1Phase1IntegrityAlgorithms", ["MD5"]),
        "tunnel1Phase1IntegrityAlgorithms is", "SHA2-384",
    ),
    "aws, too many bytes": (
        "LaunchTemplate", at("userData", "AAAA" * 5_500), "userData is 'AAAA", "User data is limited to 16 KB.",
    ),
    "aws, no such action": (
        "iam/rolePolicy:RolePolicy",
        at("policy", json.dumps({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "ec2:LookAt"}]})),
        "policy is 'ec2:LookAt'", "ec2 has no operation LookAt",
    ),
    "kubernetes, no such property": (
        "apps/v1:Deployment", at("spec.template.spec.containers.0.resource", {}),
        "spec.template.spec.containers[0].resource is {}", "resources",
    ),
    "kubernetes, another kind": (
        "apps/v1:Deployment", at("spec.replicas", "two"), "spec.replicas is 'two'", "it takes int",
    ),
    "kubernetes, not given": (
        "apps/v1:Deployment", at("spec.selector", ...), "spec.selector is None", "requires it",
    ),
    "a provider's settings": (
        "providers:aws", at("skipRegionValidation", "perhaps"), "skipRegionValidation is 'perhaps'", "it takes bool",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_input_is_caught(case: str) -> None:
    type_, change, shown, allowed = WRONG[case]
    right = of_type(type_)
    wrong = replace(right, inputs=copy.deepcopy(right.inputs))
    change(wrong.inputs)
    assert not list(faults(right))
    found = [str(fault) for fault in faults(wrong)]
    assert any(f"{right.type} {right.name}: {shown}" in one and allowed in one for one in found), found


def test_a_property_that_no_operation_is_known_to_take_is_a_fault() -> None:
    right = of_type("ec2/vpc:Vpc")
    known_to_the_sdk = replace(right, inputs={**right.inputs, "instanceTenancy": "default"})
    (found,) = map(str, faults(known_to_the_sdk))
    assert "instanceTenancy is 'default'; no operation is known to take it" in found


@pytest.mark.parametrize(
    ("parameters", "where"),
    [
        ({"Type": "ipsec.1"}, "CustomerGatewayId"),
        ({"Type": "ipsec.1", "CustomerGatewayId": "cgw-0", "Tunnels": 2}, "Tunnels"),
        ({"Type": 1, "CustomerGatewayId": "cgw-0"}, "Type"),
        ({"Type": "ipsec.1", "CustomerGatewayId": "cgw-0", "Options": {"StaticRoutes": True}}, "Options.StaticRoutes"),
    ],
)
def test_a_wrong_translation_is_caught(parameters: dict[str, Any], where: str) -> None:
    ((at_, _, allowed),) = aws_model.check("ec2", "CreateVpnConnection", parameters)
    assert at_ == where
    assert "arameter" in allowed


def test_a_type_that_nothing_is_known_of_is_refused() -> None:
    for type_ in ("aws:ec2/instance:Instance", "azure-native:network:Bastion", "gcp:compute/instance:Instance"):
        with pytest.raises(NoContractError, match=f"{type_} has no contract: add "):
            list(faults(replace(of_type("ec2/vpc:Vpc"), type=type_)))


@pytest.mark.parametrize(
    ("statement", "allowed"),
    [
        ({"Effect": "Permit"}, "Effect is Allow or Deny"),
        ({"Effect": "Allow", "Actions": []}, "elements of a statement"),
        ({"Effect": "Allow", "Action": "ec3:DescribeInstances"}, "ec3 is no service"),
        ({"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"Federated": ""}}, "a principal that is named"),
        ({"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"Service": "x", "User": "y"}}, "one of AWS"),
    ],
)
def test_a_wrong_policy_is_caught(statement: dict[str, Any], allowed: str) -> None:
    (found,) = check_policy(json.dumps({"Version": "2012-10-17", "Statement": [statement]}))
    assert allowed in found[1]


def test_a_pattern_that_cannot_be_translated_is_an_error() -> None:
    with pytest.raises(ValueError, match="add its classes"):
        aws_model.translated(r"[\p{Greek}]+")
