"""VPC peering."""

from __future__ import annotations

from typing import Any

from lab.providers.aws_calls import (
    AwsResourceType,
    Call,
    Described,
    code_of,
    given,
    gone_is_fine,
    specification,
    tag_list,
)

OPEN = ("initiating-request", "pending-acceptance", "provisioning", "active")

PEERINGS = Described(
    operation="describe_vpc_peering_connections",
    answer="VpcPeeringConnections",
    key="VpcPeeringConnectionId",
    alive=lambda described: described["Status"]["Code"] in OPEN,
    narrow=lambda _call: {},
)


def peering_kinds() -> tuple[AwsResourceType, ...]:
    """Return the resource types of this table."""
    return (
        AwsResourceType(
            type="aws:ec2/vpcPeeringConnection:VpcPeeringConnection",
            inputs="vpcId peerVpcId peerRegion peerOwnerId",
            forced="vpcId peerVpcId peerRegion peerOwnerId",
            create=_create_peering,
            look=PEERINGS.find,
            outputs=_peering_outputs,
            delete=_delete_peering,
            find=PEERINGS.left,
            tagged=True,
        ),
        AwsResourceType(
            type="aws:ec2/vpcPeeringConnectionAccepter:VpcPeeringConnectionAccepter",
            inputs="vpcPeeringConnectionId autoAccept",
            forced="vpcPeeringConnectionId",
            create=_accept_peering,
            look=PEERINGS.find,
            outputs=_accepter_outputs,
            update=lambda _call: None,
            delete=lambda _call: None,  # the other side's resource deletes the connection
            tagged=True,
        ),
    )


def _create_peering(call: Call) -> str:
    inputs = call.inputs
    made = call.ec2.create_vpc_peering_connection(
        VpcId=inputs["vpcId"],
        PeerVpcId=inputs["peerVpcId"],
        TagSpecifications=specification("vpc-peering-connection", call),
        **given(call, PeerRegion="peerRegion", PeerOwnerId="peerOwnerId"),
    )
    return str(made["VpcPeeringConnection"]["VpcPeeringConnectionId"])


def _peering_outputs(_call: Call, described: dict[str, Any]) -> dict[str, Any]:
    return {
        "acceptStatus": described["Status"]["Code"],
        "vpcId": described["RequesterVpcInfo"]["VpcId"],
        "peerVpcId": described["AccepterVpcInfo"]["VpcId"],
        "peerOwnerId": described["AccepterVpcInfo"]["OwnerId"],
        "peerRegion": described["AccepterVpcInfo"]["Region"],
    }


def _delete_peering(call: Call) -> None:
    try:
        gone_is_fine(lambda: call.ec2.delete_vpc_peering_connection(VpcPeeringConnectionId=call.id))
    except Exception as problem:
        if code_of(problem) != "InvalidStateTransition":
            raise
    call.until(lambda: PEERINGS.find(call) is None or None, f"{call.id} to be gone")


def _accept_peering(call: Call) -> str:
    call.id = call.inputs["vpcPeeringConnectionId"]
    peering = call.until(lambda: PEERINGS.find(call), f"{call.id} to be seen in {call.region}")
    if call.inputs.get("autoAccept") and peering["Status"]["Code"] != "active":
        call.ec2.accept_vpc_peering_connection(VpcPeeringConnectionId=call.id)
        call.until(lambda: (PEERINGS.find(call) or {}).get("Status", {}).get("Code") == "active" or None, f"{call.id}")
    if call.tags:
        call.ec2.create_tags(Resources=[call.id], Tags=tag_list(call.tags))
    return call.id


def _accepter_outputs(call: Call, described: dict[str, Any]) -> dict[str, Any]:
    return {
        "vpcPeeringConnectionId": call.id,
        "acceptStatus": described["Status"]["Code"],
        "vpcId": described["AccepterVpcInfo"]["VpcId"],
        "peerVpcId": described["RequesterVpcInfo"]["VpcId"],
        "peerRegion": described["RequesterVpcInfo"]["Region"],
    }
