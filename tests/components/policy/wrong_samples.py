"""Samples that break a rule. Each is named ``<rule>/wrong <case>``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pulumi
import pulumi_aws as aws
from pulumi_azure_native import compute, keyvault, network, storage

from tests.components.policy import samples as make
from tests.components.policy.samples import DISK, EBS, GROUP, INTERFACE, OPTIONS, REGION, ROLES, TAGS, Make


def makers() -> Iterator[Make]:
    """Yield one maker for each resource."""
    yield from _internet()
    yield from _ingress()
    yield from _stores()
    yield from _encryption()
    yield from _metadata()
    yield from _identity()
    yield from _azure_roles()
    yield from _secrets()
    yield from _tags()


def _internet() -> Iterator[Make]:
    yield lambda: network.PublicIPAddress("public-address/wrong ip", **GROUP, tags=TAGS)
    yield lambda: aws.ec2.Eip("public-address/wrong eip", **REGION, domain="vpc", tags=TAGS)
    address = network.PublicIPAddressArgs(id="a")
    one = network.NetworkInterfaceIPConfigurationArgs(name="primary", public_ip_address=address)
    yield lambda: network.NetworkInterface("public-interface/wrong nic", **GROUP, ip_configurations=[one], tags=TAGS)
    public = compute.VirtualMachineScaleSetPublicIPAddressConfigurationArgs(name="public")
    configuration = compute.VirtualMachineScaleSetIPConfigurationArgs(
        name="primary", public_ip_address_configuration=public
    )
    interface = compute.VirtualMachineScaleSetNetworkConfigurationArgs(
        name="primary", ip_configurations=[configuration]
    )
    profile = compute.VirtualMachineScaleSetNetworkProfileArgs(network_interface_configurations=[interface])
    yield make.scale_set("public-interface/wrong scale set", profile={"network_profile": profile})
    yield make.instance("public-interface/wrong instance", associate_public_ip_address=True)
    yield make.instance("public-interface/wrong left to the subnet", associate_public_ip_address=None)
    yield make.template(
        "public-interface/wrong template", network_interfaces=[INTERFACE(associate_public_ip_address="true")]
    )
    two = [INTERFACE(device_index=0, associate_public_ip_address="true"), INTERFACE(device_index=1)]
    yield make.template("public-interface/wrong template with two", network_interfaces=two)
    yield make.template("public-interface/wrong no interface", network_interfaces=None)
    front = network.FrontendIPConfigurationArgs(name="api", public_ip_address=address)
    yield lambda: network.LoadBalancer(
        "public-load-balancer/wrong azure", **GROUP, frontend_ip_configurations=[front], tags=TAGS
    )
    yield lambda: aws.lb.LoadBalancer("public-load-balancer/wrong aws", **REGION, tags=TAGS)
    yield lambda: _route("public-route/wrong v4", destination_cidr_block="0.0.0.0/0")
    yield lambda: _route("public-route/wrong v6", destination_ipv6_cidr_block="::/0")
    inline = aws.ec2.RouteTableRouteArgs(cidr_block="0.0.0.0/0", gateway_id="igw-1")
    yield lambda: aws.ec2.RouteTable("public-route/wrong table", **REGION, vpc_id="v", routes=[inline], tags=TAGS)
    yield lambda: aws.ec2.Subnet(
        "public-subnet/wrong one", **REGION, vpc_id="v", map_public_ip_on_launch=True, tags=TAGS
    )


def _route(name: str, **more: Any) -> aws.ec2.Route:
    return aws.ec2.Route(name, **REGION, route_table_id="t", gateway_id="igw-1", **more)


def _ingress() -> Iterator[Make]:
    for case, prefix in (("star", "*"), ("internet", "Internet"), ("zero", "0.0.0.0/0"), ("six", "::/0")):
        yield make.rules(f"ingress/wrong {case}", source_address_prefix=prefix)
    yield make.rules("ingress/wrong other tenants", source_address_prefix="AzureCloud.westeurope")
    yield make.rules("ingress/wrong among others", source_address_prefixes=["10.64.0.0/16", "192.0.2.0/24"])
    yield make.rules("ingress/wrong wider than the operators", source_address_prefix="198.51.100.0/24")
    ports = ["500", "4500", "22"]
    yield make.rules(
        "ingress/wrong more than ipsec", protocol="Udp", source_address_prefix="*", destination_port_ranges=ports
    )
    yield make.group_rule("ingress/wrong aws", cidr_ipv4="0.0.0.0/0")
    yield make.group_rule("ingress/wrong aws six", cidr_ipv6="::/0")
    yield make.group_rule("ingress/wrong aws other", cidr_ipv4="172.16.0.0/12")
    yield make.group_rule("ingress/wrong prefix list", prefix_list_id="pl-1")
    inline = aws.ec2.SecurityGroupIngressArgs(protocol="-1", from_port=0, to_port=0, cidr_blocks=["0.0.0.0/0"])
    yield lambda: aws.ec2.SecurityGroup("ingress/wrong inline", **REGION, ingress=[inline], tags=TAGS)
    yield lambda: aws.ec2.SecurityGroupRule(
        "ingress/wrong old rule",
        **REGION,
        type="ingress",
        security_group_id="sg",
        protocol="tcp",
        from_port=22,
        to_port=22,
        cidr_blocks=["0.0.0.0/0"],
    )
    yield lambda: network.SecurityRule(
        "ingress/wrong rule",
        **GROUP,
        network_security_group_name="g",
        direction="Inbound",
        access="Allow",
        protocol="*",
        priority=100,
        source_address_prefix="*",
        source_port_range="*",
        destination_address_prefix="*",
        destination_port_range="*",
    )
    yield lambda: network.Subnet("subnet-without-rules/wrong one", **GROUP, virtual_network_name="n", subnet_name="a")


def _stores() -> Iterator[Make]:
    yield make.vault("store-network/wrong open vault", network_acls=None)
    yield make.vault("store-network/wrong bypass", acls={"bypass": "AzureServices"})
    everyone = [keyvault.IPRuleArgs(value="0.0.0.0/0")]
    yield make.vault("store-network/wrong rule", acls={"ip_rules": everyone})
    yield make.account("store-network/wrong open account", network_rule_set=None)
    other = storage.IPRuleArgs(i_p_address_or_range="192.0.2.1")
    rules = storage.NetworkRuleSetArgs(bypass="None", default_action="Deny", ip_rules=[other])
    yield make.account("store-network/wrong account's rule", network_rule_set=rules)
    logging = storage.NetworkRuleSetArgs(bypass="Logging", default_action="Deny")
    yield make.account("store-network/wrong account's bypass", network_rule_set=logging)
    yield make.account("store-anonymous/wrong account", allow_blob_public_access=None)
    yield lambda: aws.s3.BucketPublicAccessBlock(
        "store-anonymous/wrong block", **REGION, bucket="b", block_public_acls=True, block_public_policy=False
    )
    yield lambda: aws.s3.BucketAcl("store-anonymous/wrong acl", **REGION, bucket="b", acl="public-read")
    yield make.vault("vault-recoverable/wrong purge", enable_purge_protection=None)
    yield make.vault("vault-recoverable/wrong delete", enable_soft_delete=False)


def _encryption() -> Iterator[Make]:
    yield make.template("disk-encrypted/wrong template", block_device_mappings=[DISK(ebs=EBS(volume_size=200))])
    yield make.template("disk-encrypted/wrong no mapping", block_device_mappings=None)
    yield make.instance("disk-encrypted/wrong instance", root_block_device=None)
    data = [aws.ec2.InstanceEbsBlockDeviceArgs(device_name="/dev/sdb", encrypted=False)]
    yield make.instance("disk-encrypted/wrong second disk", ebs_block_devices=data)
    yield lambda: aws.ebs.Volume("disk-encrypted/wrong volume", **REGION, availability_zone="us-east-1a", tags=TAGS)
    yield lambda: aws.efs.FileSystem("disk-encrypted/wrong files", **REGION, encrypted=False, tags=TAGS)
    yield make.machine("encryption-at-host/wrong machine", security_profile=None)
    off = compute.SecurityProfileArgs(encryption_at_host=False)
    yield make.scale_set("encryption-at-host/wrong scale set", profile={"security_profile": off})
    yield make.account("tls/wrong account", minimum_tls_version="TLS1_0")
    yield make.account("tls/wrong account's default", minimum_tls_version=None)
    yield make.account("tls/wrong plain", enable_https_traffic_only=False)
    yield lambda: _listener("tls/wrong http", protocol="HTTP")
    yield lambda: _listener("tls/wrong default", protocol="TLS")
    yield lambda: _listener("tls/wrong policy", protocol="HTTPS", ssl_policy="ELBSecurityPolicy-TLS13-1-0-2021-06")


def _listener(name: str, **more: Any) -> aws.lb.Listener:
    actions = [aws.lb.ListenerDefaultActionArgs(type="forward")]
    return aws.lb.Listener(name, **REGION, load_balancer_arn="a", port=443, default_actions=actions, tags=TAGS, **more)


def _metadata() -> Iterator[Make]:
    yield make.template("imdsv2/wrong template", metadata_options=OPTIONS(http_put_response_hop_limit=1))
    yield make.instance("imdsv2/wrong instance", metadata_options=None)
    far = OPTIONS(http_tokens="required", http_put_response_hop_limit=2)
    yield make.template("metadata-hop-limit/wrong template", metadata_options=far)
    yield make.template("metadata-hop-limit/wrong unset", metadata_options=OPTIONS(http_tokens="required"))


def _identity() -> Iterator[Make]:
    yield make.grant("iam-actions/wrong all", Action="*", Resource="arn:aws:s3:::one/*")
    yield make.grant("iam-actions/wrong service", Action=["ec2:DescribeInstances", "s3:*"], Resource="arn:aws:s3:::one")
    yield make.grant("iam-actions/wrong not", NotAction="iam:*", Resource="arn:aws:s3:::one")
    inline = aws.iam.RoleInlinePolicyArgs(
        name="one", policy=make.document(Action="ec2:*", Resource="arn:aws:ec2:us-east-1:1:instance/i")
    )
    yield make.role("iam-actions/wrong inline", inline_policies=[inline])
    yield lambda: aws.iam.RolePolicy("iam-actions/wrong text", role="r", policy="not json")
    yield make.grant("iam-resources/wrong all", Action="ec2:TerminateInstances", Resource="*")
    yield make.grant("iam-resources/wrong among", Action=["ec2:DescribeInstances", "s3:GetObject"], Resource=["*"])
    yield make.grant("iam-resources/wrong service", Action="s3:GetObject", Resource="arn:aws:s3:::*")
    yield make.grant("iam-resources/wrong not", Action="s3:GetObject", NotResource="arn:aws:s3:::one")
    yield make.role("iam-principals/wrong everyone", trust={"Principal": "*", "Action": "sts:AssumeRole"})
    yield make.role("iam-principals/wrong account", trust={"Principal": {"AWS": ["*"]}, "Action": "sts:AssumeRole"})
    yield make.role("iam-principals/wrong unconditional", trust=make.federated())
    audience = make.federated(StringEquals={"sts.windows.net/t/:aud": "a"})
    yield make.role("iam-principals/wrong any subject", trust=audience)
    pattern = make.federated(StringEquals={"x:aud": "a"}, StringLike={"x:sub": "repo:org/*"})
    yield make.role("iam-principals/wrong pattern", trust=pattern)
    anyone = make.document(Principal="*", Action="s3:GetObject", Resource="arn:aws:s3:::b/*")
    yield lambda: aws.s3.BucketPolicy("iam-principals/wrong bucket", **REGION, bucket="b", policy=anyone)
    administrator = "arn:aws:iam::aws:policy/AdministratorAccess"
    yield lambda: aws.iam.RolePolicyAttachment("iam-managed-policies/wrong", role="r", policy_arn=administrator)
    all_of_one = ["arn:aws:iam::aws:policy/AmazonS3FullAccess"]
    yield make.role("iam-managed-policies/wrong role", managed_policy_arns=all_of_one)
    yield lambda: aws.iam.AccessKey("standing-keys/wrong", user="u")
    yield make.vault("vault-roles/wrong", enable_rbac_authorization=None)
    linux = compute.LinuxConfigurationArgs(disable_password_authentication=False)
    yield make.machine("password-login/wrong machine", profile={"linux_configuration": linux})
    profile = compute.VirtualMachineScaleSetOSProfileArgs(computer_name_prefix="a-")
    yield make.scale_set("password-login/wrong scale set", profile={"os_profile": profile})


def _azure_roles() -> Iterator[Make]:
    for case, role in (
        ("owner", "8e3af657-a8ff-443c-a75c-2fe8c4bcb635"),
        ("contributor", "b24988ac-6180-42a0-ab88-20f7382dd24c"),
    ):
        yield make.assignment(f"azure-privileged-role/wrong {case}", role_definition_id=f"{ROLES}/{role}")
    for case, scope in (
        ("subscription", "/subscriptions/00000000-0000-4000-8000-000000000001"),
        ("group", "/providers/Microsoft.Management/managementGroups/all"),
        ("tenant", "/"),
    ):
        yield make.assignment(f"azure-scope/wrong {case}", scope=scope)
    for case, action in (("all", "*"), ("reads", "*/read"), ("provider", "Microsoft.Compute/*")):
        yield make.definition(f"azure-actions/wrong {case}", actions=[action])
    yield make.definition("azure-actions/wrong data", data_actions=["*"])


def _secrets() -> Iterator[Make]:
    key = make.KEY
    yield make.template("secret-in-user-data/wrong template", user_data=make.cloud_config(key))
    yield make.template("secret-in-user-data/wrong gzip", user_data=make.packed(f"#cloud-config\n{key}"))
    file = make.packed("password: correct-horse\n")
    yield make.machine(
        "secret-in-user-data/wrong file", profile={"custom_data": make.cloud_config(file, encoding="gz+b64")}
    )
    yield make.machine(
        "secret-in-user-data/wrong user data", user_data=make.cloud_config("token: abcdef.0123456789abcdef")
    )
    yield make.instance("secret-in-user-data/wrong plain", user_data="export AWS_ACCESS_KEY_ID=AKIAABCDEFGHIJKLMNOP")
    profile = compute.VirtualMachineScaleSetOSProfileArgs(
        custom_data=pulumi.Output.secret("anything"),
        linux_configuration=compute.LinuxConfigurationArgs(disable_password_authentication=True),
    )
    yield make.scale_set("secret-in-user-data/wrong made of a secret", profile={"os_profile": profile})
    yield lambda: _connection("secret-in-plain/wrong azure", "never-in-plain")
    yield make.machine("secret-in-plain/wrong password", profile={"admin_password": "never-in-plain"})


def _connection(name: str, key: Any) -> network.VirtualNetworkGatewayConnection:
    gateway = network.VirtualNetworkGatewayArgs(id="g")
    return network.VirtualNetworkGatewayConnection(
        name, **GROUP, connection_type="IPsec", virtual_network_gateway1=gateway, shared_key=key, tags=TAGS
    )


def _tags() -> Iterator[Make]:
    yield lambda: aws.ec2.Vpc("tags/wrong none", **REGION, cidr_block="10.65.0.0/16")
    other = {**TAGS, "longhaul-environment": "prod"}
    yield lambda: aws.ec2.Vpc("tags/wrong environment", **REGION, cidr_block="10.65.0.0/16", tags=other)
    nowhere = {**TAGS, "longhaul-site": "nowhere"}
    yield lambda: network.NatGateway("tags/wrong site", **GROUP, tags=nowhere)
    own = {key: value for key, value in TAGS.items() if key != "team"}
    yield lambda: network.NatGateway("tags/wrong own", **GROUP, tags=own)
    yield make.template("tags/wrong pool", tags=TAGS)
    yield make.template("tags/wrong volume", tag_specifications=None)
    yield make.machine("tags/wrong role", tags=TAGS)
    yield lambda: _group("tags/wrong group", propagate=False)


def _group(name: str, *, propagate: bool) -> aws.autoscaling.Group:
    tags = {**TAGS, "longhaul-pool": "cpu"}.items()
    entries = [aws.autoscaling.GroupTagArgs(key=key, value=value, propagate_at_launch=propagate) for key, value in tags]
    return aws.autoscaling.Group(name, **REGION, max_size=1, min_size=0, tags=entries)
