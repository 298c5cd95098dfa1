"""The aws plugin's answers about existing things, which AWS's SDK made."""

from __future__ import annotations

from typing import Any

import grpc
import pytest
from pulumi.runtime.proto import provider_pb2

from lab.providers.aws_provider import AwsProvider
from lab.providers.values import from_struct, to_struct
from tests.lab.cloud.aws.site import Site

VPC = "urn:pulumi:t::p::aws:ec2/vpc:Vpc::x"


class AbortedError(Exception):
    """Exception that ends a refused call."""


class Context:
    """A stand-in for gRPC's context."""

    def abort(self, code: grpc.StatusCode, details: str) -> None:
        raise AbortedError(f"{code.name}: {details}")


def told(function: str, *, preview: bool = False, **given: str) -> dict[str, Any]:
    request = provider_pb2.InvokeRequest(tok=f"aws:ec2/{function}:{function}", args=to_struct(given), preview=preview)
    answer = AwsProvider(engine=None).Invoke(request, Context())
    found: dict[str, Any] = from_struct(getattr(answer, "return"))
    return found


def test_a_vpc_tells_of_all_its_ranges(site: Site) -> None:
    site.ec2.associate_vpc_cidr_block(VpcId=site.vpc, CidrBlock="127.10.0.0/16")
    found = told("getVpc", id=site.vpc, region="us-east-1", preview=True)
    assert (found["id"], found["cidrBlock"]) == (site.vpc, "127.9.0.0/16")
    held = {one["cidrBlock"]: one["state"] for one in found["cidrBlockAssociations"]}
    assert held == {"127.9.0.0/16": "associated", "127.10.0.0/16": "associated"}


def test_a_subnet_and_its_route_table_know_each_other(site: Site) -> None:
    table = site.ec2.create_route_table(VpcId=site.vpc)["RouteTable"]["RouteTableId"]
    site.ec2.associate_route_table(RouteTableId=table, SubnetId=site.subnet)
    subnet = told("getSubnet", id=site.subnet, region="us-east-1")
    assert (subnet["vpcId"], subnet["cidrBlock"]) == (site.vpc, "127.9.64.0/24")
    assert subnet["availabilityZone"] == "us-east-1a"
    found = told("getRouteTable", routeTableId=table, region="us-east-1")
    assert [one["subnetId"] for one in found["associations"]] == [site.subnet]


def test_a_gateway_tells_what_it_is_attached_to(site: Site) -> None:
    gateway = site.ec2.create_vpn_gateway(Type="ipsec.1")["VpnGateway"]["VpnGatewayId"]
    assert told("getVpnGateway", id=gateway, region="us-east-1")["attachedVpcId"] == ""
    site.ec2.attach_vpn_gateway(VpcId=site.vpc, VpnGatewayId=gateway)
    assert told("getVpnGateway", id=gateway, region="us-east-1")["attachedVpcId"] == site.vpc


def test_what_is_not_there_and_what_is_not_known_is_refused(site: Site) -> None:
    with pytest.raises(AbortedError, match="getVpc: no matching resource found: vpc-00000000 in us-east-1"):
        told("getVpc", id="vpc-00000000", region="us-east-1")
    with pytest.raises(AbortedError, match="by id, not by default, id"):
        told("getVpc", id=site.vpc, default="true")
    with pytest.raises(AbortedError, match=r"UNIMPLEMENTED: .*getAmi"):
        told("getAmi", id="ami-1")


@pytest.mark.usefixtures("site")
def test_another_account_s_credentials_make_nothing() -> None:
    provider = AwsProvider(engine=None)
    wanted = {"aws:config:allowedAccountIds": '["999999999999"]', "aws:config:region": "us-east-1"}
    provider.Configure(provider_pb2.ConfigureRequest(variables=wanted), Context())
    inputs = to_struct({"cidrBlock": "127.11.0.0/16"})
    with pytest.raises(AbortedError, match=r"AWS account ID not allowed: \d{12} is none of 999999999999"):
        provider.Create(provider_pb2.CreateRequest(urn=VPC, properties=inputs), Context())
