"""VPC peering."""

from __future__ import annotations

from typing import Any

from lab.providers.aws_kinds import (
    Call,
    Kind,
    absent_is_none,
    code_of,
    gone_is_fine,
    listed,
    one,
    same_tags,
    specification,
    tag_outputs,
)


def peering_kinds() -> tuple[Kind, ...]:
    """Everything of this table."""
    return (
        Kind(
            type="aws:ec2/vpcPeeringConnection:VpcPeeringConnection",
            inputs="vpcId peerVpcId peerRegion peerOwnerId",
            forced="vpcId peerVpcId peerRegion peerOwnerId",
            create=_create_peering,
            read=_read_peering,
            delete=_delete_peering,
            find=lambda call: same_tags(
                call,
                [item for item in call.ec2.describe_vpc_peering_connections()["VpcPeeringConnections"] if _open(item)],
                "VpcPeeringConnectionId",
            ),
            tagged=True,
        ),
        Kind(
            type="aws:ec2/vpcPeeringConnectionAccepter:VpcPeeringConnectionAccepter",
            inputs="vpcPeeringConnectionId autoAccept",
            forced="vpcPeeringConnectionId",
            create=_accept_peering,
            read=_read_accepter,
            update=lambda _call: None,
            delete=lambda _call: None,  # the connection goes with the other side's resource
            tagged=True,
        ),
    )


def _create_peering(call: Call) -> str:
    inputs = call.inputs
    names = {"PeerRegion": "peerRegion", "PeerOwnerId": "peerOwnerId"}
    given = {key: inputs[name] for key, name in names.items() if inputs.get(name)}
    made = call.ec2.create_vpc_peering_connection(
        VpcId=inputs["vpcId"],
        PeerVpcId=inputs["peerVpcId"],
        TagSpecifications=specification("vpc-peering-connection", call),
        **given,
    )
    return str(made["VpcPeeringConnection"]["VpcPeeringConnectionId"])


def _open(item: dict[str, Any]) -> bool:
    return item["Status"]["Code"] in ("initiating-request", "pending-acceptance", "provisioning", "active")


def _peering(call: Call) -> dict[str, Any] | None:
    answer = absent_is_none(lambda: call.ec2.describe_vpc_peering_connections(VpcPeeringConnectionIds=[call.id]))
    found = one(answer, "VpcPeeringConnections") if answer else None
    return found if found and _open(found) else None


def _read_peering(call: Call) -> dict[str, Any] | None:
    found = _peering(call)
    if found is None:
        return None
    return {
        "acceptStatus": found["Status"]["Code"],
        "vpcId": found["RequesterVpcInfo"]["VpcId"],
        "peerVpcId": found["AccepterVpcInfo"]["VpcId"],
        "peerOwnerId": found["AccepterVpcInfo"]["OwnerId"],
        "peerRegion": found["AccepterVpcInfo"]["Region"],
        **tag_outputs(found),
    }


def _delete_peering(call: Call) -> None:
    try:
        gone_is_fine(lambda: call.ec2.delete_vpc_peering_connection(VpcPeeringConnectionId=call.id))
    except Exception as problem:
        if code_of(problem) != "InvalidStateTransition":
            raise
    call.until(lambda: _peering(call) is None or None, f"{call.id} to be gone")


def _accept_peering(call: Call) -> str:
    call.id = call.inputs["vpcPeeringConnectionId"]
    found = call.until(lambda: _peering(call), f"{call.id} to be seen in {call.region}")
    if call.inputs.get("autoAccept") and found["Status"]["Code"] != "active":
        call.ec2.accept_vpc_peering_connection(VpcPeeringConnectionId=call.id)
        call.until(lambda: (_peering(call) or {}).get("Status", {}).get("Code") == "active" or None, f"{call.id}")
    if call.tags:
        call.ec2.create_tags(Resources=[call.id], Tags=listed(call.tags))
    return call.id


def _read_accepter(call: Call) -> dict[str, Any] | None:
    found = _peering(call)
    if found is None:
        return None
    return {
        "vpcPeeringConnectionId": call.id,
        "acceptStatus": found["Status"]["Code"],
        "vpcId": found["AccepterVpcInfo"]["VpcId"],
        "peerVpcId": found["RequesterVpcInfo"]["VpcId"],
        "peerRegion": found["RequesterVpcInfo"]["Region"],
        **tag_outputs(found),
    }
