"""AWS's stand-in plugin: its tables agree with the installed SDK, and it refuses what it does not know."""

from __future__ import annotations

import dataclasses
import re
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import grpc
import pytest
from pulumi.runtime.proto import provider_pb2

from lab.providers.aws_calls import AwsRefusedError, AwsResourceType, Call
from lab.providers.aws_provider import AwsProvider, known_kinds
from lab.providers.aws_templates import template_data
from lab.providers.aws_vpn import tunnels_of
from lab.providers.values import from_struct, to_struct

GROUP = "aws:ec2/securityGroup:SecurityGroup"
SCALING_GROUP = "aws:autoscaling/group:Group"
NAT = "aws:ec2/natGateway:NatGateway"
VPC = "urn:pulumi:t::p::aws:ec2/vpc:Vpc::x"


class AbortedError(Exception):
    """Exception that ends a refused call."""


class Context:
    """A stand-in for gRPC's context."""

    def abort(self, code: grpc.StatusCode, details: str) -> None:
        raise AbortedError(f"{code.name}: {details}")


@pytest.mark.parametrize("kind", known_kinds().values(), ids=lambda kind: kind.type)
def test_types_and_inputs_are_those_of_the_installed_sdk(kind: AwsResourceType) -> None:
    spec = find_spec("pulumi_aws")
    assert spec
    assert spec.submodule_search_locations
    module = kind.type.split(":")[1].split("/")[0]
    folder = Path(spec.submodule_search_locations[0]) / module
    (source,) = [text for path in folder.glob("*.py") if f"'{kind.type}'," in (text := path.read_text())]
    known = set(re.findall(r'@pulumi\.getter\(name="(\w+)"\)', source)) | set(re.findall(r"def (\w+)\(self", source))
    assert kind.known <= known
    assert kind.forcing <= kind.known
    assert set(kind.secrets.split()) | set(kind.volatile.split()) <= known


def test_what_is_not_known_is_refused() -> None:
    provider = AwsProvider(engine=None)
    inputs = to_struct({"cidrBlock": "10.0.0.0/16", "ipv6IpamPoolId": "x"})
    with pytest.raises(AbortedError, match=r"UNKNOWN: .*aws:ec2/vpc:Vpc does not know ipv6IpamPoolId"):
        provider.Create(provider_pb2.CreateRequest(urn=VPC, properties=inputs), Context())
    with pytest.raises(AbortedError, match="UNIMPLEMENTED: the lab's AWS does not have aws:s3/bucket:Bucket"):
        provider.Create(provider_pb2.CreateRequest(urn="urn:pulumi:t::p::aws:s3/bucket:Bucket::x"), Context())
    given = {"aws:config:accessKey": "AKIA", "aws:config:region": "us-east-1"}
    with pytest.raises(AbortedError, match=r"INVALID_ARGUMENT: .*accessKey"):
        provider.Configure(provider_pb2.ConfigureRequest(variables=given), Context())


@pytest.mark.parametrize(
    ("type", "old", "new", "replaced", "first"),
    [
        ("aws:ec2/vpc:Vpc", {"cidrBlock": "a"}, {"cidrBlock": "b"}, ["cidrBlock"], False),
        ("aws:ec2/vpc:Vpc", {"region": "a"}, {"region": "b"}, ["region"], False),
        ("aws:ec2/vpc:Vpc", {"tags": {"a": "b"}}, {"tags": {}}, [], False),
        (
            "aws:ec2/securityGroup:SecurityGroup",
            {"name": "n", "vpcId": "a"},
            {"name": "n", "vpcId": "b"},
            ["vpcId"],
            True,
        ),
        (NAT, {"subnetId": "a"}, {"subnetId": "a", "secondaryAllocationIds": ["b"]}, [], False),
        ("aws:iam/role:Role", {"name": "a", "path": "/"}, {"name": "b", "path": "/"}, ["name"], False),
        ("aws:autoscaling/group:Group", {"name": "n", "maxSize": 1}, {"name": "n", "maxSize": 2}, [], False),
    ],
)
def test_diffs(type: str, old: dict[str, Any], new: dict[str, Any], replaced: list[str], first: bool) -> None:
    request = provider_pb2.DiffRequest(
        id="i", urn=f"urn:pulumi:t::p::{type}::x", old_inputs=to_struct(old), olds=to_struct({}), news=to_struct(new)
    )
    answer = AwsProvider(engine=None).Diff(request, Context())
    assert answer.changes == provider_pb2.DiffResponse.DIFF_SOME
    assert list(answer.replaces) == replaced
    assert answer.deleteBeforeReplace is first


def test_a_previewed_update_shows_what_will_change() -> None:
    urn = "urn:pulumi:t::p::aws:ec2/launchTemplate:LaunchTemplate::x"
    olds = to_struct({"arn": "arn:x", "name": "n", "latestVersion": 1, "userData": "a"})
    request = provider_pb2.UpdateRequest(
        urn=urn, id="lt-1", olds=olds, news=to_struct({"name": "n", "userData": "b"}), preview=True
    )
    answer = from_struct(AwsProvider(engine=None).Update(request, Context()).properties)
    assert answer == {"arn": "arn:x", "name": "n", "userData": "b"}, "the latest version is not known yet"


def test_template_data_is_as_the_api_takes_it() -> None:
    given = {
        "imageId": "ami-1",
        "ebsOptimized": "true",
        "metadataOptions": {"httpTokens": "required", "httpPutResponseHopLimit": 1},
        "networkInterfaces": [{"deviceIndex": 0, "associatePublicIpAddress": "false", "securityGroups": ["sg-1"]}],
        "blockDeviceMappings": [{"deviceName": "/dev/sda1", "ebs": {"encrypted": "true", "volumeSize": 200}}],
        "instanceMarketOptions": {"marketType": "spot", "spotOptions": {"spotInstanceType": "one-time"}},
        "tagSpecifications": [{"resourceType": "volume", "tags": {"a": "b"}}],
    }
    assert template_data(given) == {
        "ImageId": "ami-1",
        "EbsOptimized": True,
        "MetadataOptions": {"HttpTokens": "required", "HttpPutResponseHopLimit": 1},
        "NetworkInterfaces": [{"DeviceIndex": 0, "AssociatePublicIpAddress": False, "Groups": ["sg-1"]}],
        "BlockDeviceMappings": [{"DeviceName": "/dev/sda1", "Ebs": {"Encrypted": True, "VolumeSize": 200}}],
        "InstanceMarketOptions": {"MarketType": "spot", "SpotOptions": {"SpotInstanceType": "one-time"}},
        "TagSpecifications": [{"ResourceType": "volume", "Tags": [{"Key": "a", "Value": "b"}]}],
    }


def test_tunnels_are_in_the_order_of_their_addresses() -> None:
    def tunnel(address: str, key: str) -> str:
        outside = f"<tunnel_outside_address><ip_address>{address}</ip_address></tunnel_outside_address>"
        ike = f"<ike><pre_shared_key>{key}</pre_shared_key></ike>"
        return f"<ipsec_tunnel><vpn_gateway>{outside}</vpn_gateway>{ike}</ipsec_tunnel>"

    document = f"<vpn_connection>{tunnel('198.51.100.97', 'b')}{tunnel('198.51.100.96', 'a')}</vpn_connection>"
    assert tunnels_of(document) == [("198.51.100.96", "a"), ("198.51.100.97", "b")]

    class Ec2:
        """EC2, which has one connection."""

        def describe_vpn_connections(self, **_words: Any) -> dict[str, Any]:
            found = {"VpnConnectionId": "vpn-1", "State": "available", "CustomerGatewayConfiguration": document}
            return {"VpnConnections": [found]}

        def modify_vpn_tunnel_options(self, **words: Any) -> None:
            asked.append((words["VpnTunnelOutsideIpAddress"], words["TunnelOptions"]))

    asked: list[Any] = []
    change = known_kinds()["aws:ec2/vpnConnection:VpnConnection"].update
    assert change
    clients: Any = SimpleNamespace(client=lambda *_words: Ec2())

    def call(**inputs: Any) -> Call:
        return Call(clients=clients, region="us-east-1", inputs=inputs, old={"type": "ipsec.1"}, id="vpn-1")

    change(call(type="ipsec.1", tunnel1PresharedKey="a", tunnel2PresharedKey="c"))
    assert asked == [("198.51.100.97", {"PreSharedKey": "c"})], "the first has it"
    with pytest.raises(AwsRefusedError, match="changes the keys of a VPN connection, not type"):
        change(call(type="ipsec.2"))


@pytest.mark.parametrize(("given", "patience"), [(0.0, 600.0), (3600.0, 3600.0)])
def test_a_group_s_deletion_ends_when_the_real_plugin_s_would(
    given: float, patience: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Terraform's default for groups, unless the program gives another time."""
    waited: list[float] = []
    group = dataclasses.replace(known_kinds()[SCALING_GROUP], delete=lambda call: waited.append(call.patience_s))
    monkeypatch.setattr(AwsProvider, "_kind", lambda *_, **__: group)
    AwsProvider(engine=None).Delete(provider_pb2.DeleteRequest(id="pool", timeout=given), Context())
    assert waited == [patience]
