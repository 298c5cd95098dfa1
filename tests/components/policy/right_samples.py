"""Samples that keep a rule, close to what would break it. Each is named ``<rule>/right <case>``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pulumi
import pulumi_aws as aws
from pulumi_azure_native import managedidentity, network, storage

from tests.components.policy import samples as make
from tests.components.policy.samples import (
    DISK,
    EBS,
    GROUP,
    OPERATORS,
    OPERATORS_INSIDE,
    OPTIONS,
    REGION,
    ROLES,
    SUPERNET,
    TAGS,
    Make,
)

SECRETS_USER = "4633458b-17de-408a-b874-0445c86b69e6"


def makers() -> Iterator[Make]:
    """Yield one maker for each resource."""
    yield from _internet()
    yield from _ingress()
    yield from _stores()
    yield from _encryption()
    yield from _metadata()
    yield from _identity()
    yield from _secrets()
    yield from _tags()


def _internet() -> Iterator[Make]:
    # With names of the lab's own: the environment declares these as public.
    yield lambda: network.PublicIPAddress("lab-weu-egress", **GROUP, tags=TAGS)
    yield lambda: aws.ec2.Eip("lab-use1-network-egress-a", **REGION, domain="vpc", tags=TAGS)
    yield lambda: _route("lab-use1-network-public-default", gateway_id="igw-1", destination_cidr_block="0.0.0.0/0")
    one = network.NetworkInterfaceIPConfigurationArgs(name="primary", private_ip_address="10.64.0.4")
    yield lambda: network.NetworkInterface("public-interface/right nic", **GROUP, ip_configurations=[one], tags=TAGS)
    yield make.template("public-interface/right template")
    two = [make.INTERFACE(device_index=0), make.INTERFACE(device_index=1)]
    yield make.template("public-interface/right template with two", network_interfaces=two)
    yield make.instance("public-interface/right instance")
    front = network.FrontendIPConfigurationArgs(name="api", private_ip_address="10.64.3.5")
    yield lambda: network.LoadBalancer(
        "public-load-balancer/right azure", **GROUP, frontend_ip_configurations=[front], tags=TAGS
    )
    yield lambda: aws.lb.LoadBalancer("public-load-balancer/right aws", **REGION, internal=True, tags=TAGS)
    yield lambda: _route("public-route/right nat", nat_gateway_id="nat-1", destination_cidr_block="0.0.0.0/0")
    yield lambda: _route("public-route/right vpn", gateway_id="vgw-1", destination_cidr_block="0.0.0.0/0")
    yield lambda: _route("public-route/right narrow", gateway_id="igw-1", destination_cidr_block="10.66.0.0/16")
    yield lambda: aws.ec2.Subnet("public-subnet/right", **REGION, vpc_id="v", map_public_ip_on_launch=False, tags=TAGS)


def _route(name: str, **more: Any) -> aws.ec2.Route:
    return aws.ec2.Route(name, **REGION, route_table_id="t", **more)


def _ingress() -> Iterator[Make]:
    yield make.rules("ingress/right supernet", source_address_prefix=SUPERNET)
    yield make.rules("ingress/right inside", source_address_prefixes=["10.64.0.0/16", "10.65.0.0/16"])
    yield make.rules("ingress/right operators", source_address_prefix=OPERATORS)
    yield make.rules("ingress/right probes", source_address_prefix="AzureLoadBalancer")
    yield make.rules("ingress/right denied", access="Deny", source_address_prefix="*")
    yield make.rules("ingress/right outbound", direction="Outbound", source_address_prefix="*")
    ports = ["500", "4500"]
    yield make.rules("ingress/right ike", protocol="Udp", source_address_prefix="*", destination_port_ranges=ports)
    yield make.rules("ingress/right esp", protocol="Esp", source_address_prefix="Internet")
    yield make.group_rule("ingress/right aws", cidr_ipv4="10.64.0.0/12", ip_protocol="-1")
    inside = {"ip_protocol": "tcp", "from_port": 22, "to_port": 22}
    yield make.group_rule("ingress/right operators inside", cidr_ipv4=OPERATORS_INSIDE, **inside)
    yield make.group_rule("ingress/right aws ike", cidr_ipv4="0.0.0.0/0", ip_protocol="udp", from_port=500, to_port=500)
    yield make.group_rule("ingress/right aws esp", cidr_ipv4="0.0.0.0/0", ip_protocol="50")
    yield make.group_rule("ingress/right by group", referenced_security_group_id="sg-1")
    rules = network.NetworkSecurityGroupArgs(id="g")
    yield lambda: network.Subnet(
        "subnet-without-rules/right",
        **GROUP,
        virtual_network_name="n",
        subnet_name="a",
        network_security_group=rules,
    )
    yield lambda: network.Subnet(
        "subnet-without-rules/right gateway", **GROUP, virtual_network_name="n", subnet_name="GatewaySubnet"
    )


def _stores() -> Iterator[Make]:
    yield make.vault("store-network/right vault")
    yield make.vault("store-network/right closed vault", network_acls=None, public_network_access="Disabled")
    yield make.account("store-network/right account")
    yield make.account("store-network/right closed", network_rule_set=None, public_network_access="Disabled")
    rule = storage.IPRuleArgs(i_p_address_or_range="198.51.100.2")
    rules = storage.NetworkRuleSetArgs(bypass="None", default_action="Deny", ip_rules=[rule])
    yield make.account("store-network/right operator", network_rule_set=rules)
    ruled = storage.NetworkRuleSetArgs(bypass="AzureServices", default_action="Deny")
    yield make.account("store-network/right account with rules", network_rule_set=ruled)
    yield make.account("store-anonymous/right account")
    yield lambda: aws.s3.BucketPublicAccessBlock(
        "store-anonymous/right block",
        **REGION,
        bucket="b",
        block_public_acls=True,
        block_public_policy=True,
        ignore_public_acls=True,
        restrict_public_buckets=True,
    )
    yield lambda: aws.s3.BucketAcl("store-anonymous/right acl", **REGION, bucket="b", acl="private")
    yield make.vault("vault-recoverable/right")


def _encryption() -> Iterator[Make]:
    disks = [
        DISK(device_name="/dev/sda1", ebs=EBS(encrypted="true")),
        # An instance-store disk is no EBS volume.
        DISK(device_name="/dev/sdb", virtual_name="ephemeral0"),
    ]
    yield make.template("disk-encrypted/right template", block_device_mappings=disks)
    yield make.instance("disk-encrypted/right instance")
    of_template = aws.ec2.InstanceLaunchTemplateArgs(name="t")
    yield make.instance("disk-encrypted/right of a template", root_block_device=None, launch_template=of_template)
    yield lambda: aws.ebs.Volume(
        "disk-encrypted/right volume", **REGION, availability_zone="us-east-1a", encrypted=True, tags=TAGS
    )
    yield make.machine("encryption-at-host/right machine")
    yield make.scale_set("encryption-at-host/right scale set")
    yield make.account("tls/right account")
    yield make.account("tls/right newer", minimum_tls_version="TLS1_3")
    yield lambda: _listener("tls/right tcp", protocol="TCP")
    yield lambda: _listener("tls/right tls", protocol="TLS", ssl_policy="ELBSecurityPolicy-TLS13-1-2-2021-06")


def _listener(name: str, **more: Any) -> aws.lb.Listener:
    actions = [aws.lb.ListenerDefaultActionArgs(type="forward")]
    return aws.lb.Listener(name, **REGION, load_balancer_arn="a", port=443, default_actions=actions, tags=TAGS, **more)


def _metadata() -> Iterator[Make]:
    yield make.template("imdsv2/right template")
    yield make.instance("imdsv2/right instance")
    of_template = aws.ec2.InstanceLaunchTemplateArgs(name="t")
    yield make.instance("imdsv2/right of a template", metadata_options=None, launch_template=of_template)
    yield make.template("metadata-hop-limit/right")
    yield make.template("metadata-hop-limit/right off", metadata_options=OPTIONS(http_endpoint="disabled"))


def _identity() -> Iterator[Make]:
    yield make.grant("iam-actions/right named", Action=["s3:GetObject"], Resource="arn:aws:s3:::one/*")
    yield make.grant("iam-actions/right family", Action="ec2:Describe*", Resource="arn:aws:ec2:us-east-1:1:instance/i")
    yield lambda: aws.iam.RolePolicy(
        "iam-actions/right denied",
        role="r",
        policy=make.document(Action="*", Resource="*").replace("Allow", "Deny"),
    )
    yield make.grant("iam-resources/right looking", Action="ec2:DescribeInstances", Resource="*")
    yield make.grant("iam-resources/right part", Action="s3:GetObject", Resource="arn:aws:s3:::one/*")
    yield make.role("iam-principals/right service")
    both = make.federated(StringEquals={"x:aud": ["a", "b"], "x:sub": ["p"]})
    yield make.role("iam-principals/right identities", trust=both)
    own = make.document(Principal={"AWS": "arn:aws:iam::1:root"}, Action="s3:GetObject", Resource="arn:aws:s3:::b/*")
    yield lambda: aws.s3.BucketPolicy("iam-principals/right bucket", **REGION, bucket="b", policy=own)
    yield lambda: aws.iam.RolePolicyAttachment(
        "iam-managed-policies/right", role="r", policy_arn="arn:aws:iam::1:policy/lab-own"
    )
    yield make.role("standing-keys/right")
    yield make.vault("vault-roles/right")
    yield make.machine("password-login/right machine")
    yield make.scale_set("password-login/right scale set")
    narrow = "/subscriptions/s/resourceGroups/lab-weu/providers/Microsoft.KeyVault/vaults/v/secrets/one"
    yield make.assignment("azure-privileged-role/right", role_definition_id=f"{ROLES}/{SECRETS_USER}", scope=narrow)
    yield make.assignment("azure-scope/right")
    yield make.definition("azure-actions/right", actions=["Microsoft.Compute/virtualMachineScaleSets/read"])


def _secrets() -> Iterator[Make]:
    config = make.cloud_config(make.CERTIFICATE + '{"state_secret": "etcd-state", "secret": "${encryption}"}')
    yield make.template("secret-in-user-data/right template", user_data=config)
    yield make.machine("secret-in-user-data/right machine", profile={"custom_data": config})
    key = pulumi.Output.secret("never-in-plain")
    gateway = network.VirtualNetworkGatewayArgs(id="g")
    yield lambda: network.VirtualNetworkGatewayConnection(
        "secret-in-plain/right",
        **GROUP,
        connection_type="IPsec",
        virtual_network_gateway1=gateway,
        shared_key=key,
        tags=TAGS,
    )


def _tags() -> Iterator[Make]:
    yield lambda: aws.ec2.Vpc("tags/right vpc", **REGION, cidr_block="10.65.0.0/16", tags={**TAGS, "Name": "one"})
    yield lambda: managedidentity.UserAssignedIdentity("tags/right identity", **GROUP, tags=TAGS)
    whole = {key: value for key, value in TAGS.items() if key != "longhaul-site"}
    yield lambda: aws.ec2.VpcPeeringConnection(
        "tags/right of two sites", **REGION, vpc_id="a", peer_vpc_id="b", tags=whole
    )
    yield make.template("tags/right template")
    tags = {**TAGS, "longhaul-pool": "cpu"}.items()
    entries = [aws.autoscaling.GroupTagArgs(key=key, value=value, propagate_at_launch=True) for key, value in tags]
    yield lambda: aws.autoscaling.Group("tags/right group", **REGION, max_size=1, min_size=0, tags=entries)
