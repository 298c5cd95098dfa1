"""Route tables and routes."""

from __future__ import annotations

from typing import Any

from lab.providers.aws_kinds import (
    AwsRefusedError,
    Call,
    Kind,
    absent_is_none,
    arn,
    by_name,
    code_of,
    gone_is_fine,
    one,
    same_tags,
    specification,
    tag_outputs,
)

TARGETS = {
    "gatewayId": "GatewayId",
    "natGatewayId": "NatGatewayId",
    "vpcPeeringConnectionId": "VpcPeeringConnectionId",
}


def route_kinds() -> tuple[Kind, ...]:
    """Everything of this table."""
    return (
        Kind(
            type="aws:ec2/routeTable:RouteTable",
            inputs="vpcId",
            forced="vpcId",
            create=lambda call: str(
                call.ec2.create_route_table(
                    VpcId=call.inputs["vpcId"], TagSpecifications=specification("route-table", call)
                )["RouteTable"]["RouteTableId"]
            ),
            read=_read_table,
            delete=lambda call: call.retried(
                ("DependencyViolation",),
                lambda: gone_is_fine(lambda: call.ec2.delete_route_table(RouteTableId=call.id)),
                f"deleting {call.id}",
            ),
            find=lambda call: same_tags(
                call, call.ec2.describe_route_tables(Filters=by_name(call))["RouteTables"], "RouteTableId"
            ),
            tagged=True,
        ),
        Kind(
            type="aws:ec2/route:Route",
            inputs=f"routeTableId destinationCidrBlock {' '.join(TARGETS)}",
            forced="routeTableId destinationCidrBlock",
            create=_create_route,
            read=_read_route,
            update=_replace_route,
            delete=lambda call: gone_is_fine(
                lambda: call.ec2.delete_route(
                    RouteTableId=call.old["routeTableId"], DestinationCidrBlock=call.old["destinationCidrBlock"]
                )
            ),
        ),
        Kind(
            type="aws:ec2/routeTableAssociation:RouteTableAssociation",
            inputs="subnetId routeTableId",
            forced="subnetId",
            create=lambda call: str(
                call.ec2.associate_route_table(
                    RouteTableId=call.inputs["routeTableId"], SubnetId=call.inputs["subnetId"]
                )["AssociationId"]
            ),
            read=_read_association,
            delete=lambda call: gone_is_fine(lambda: call.ec2.disassociate_route_table(AssociationId=call.id)),
            find=lambda call: [
                item["RouteTableAssociationId"]
                for item in _associations(call, call.inputs["routeTableId"])
                if item.get("SubnetId") == call.inputs["subnetId"]
            ],
        ),
    )


def _read_table(call: Call) -> dict[str, Any] | None:
    found = _table(call, call.id)
    if found is None:
        return None
    return {
        "arn": arn(call, "route-table", found["OwnerId"], call.id),
        "vpcId": found["VpcId"],
        "ownerId": found["OwnerId"],
        **tag_outputs(found),
    }


def _table(call: Call, table_id: str) -> dict[str, Any] | None:
    return absent_is_none(lambda: one(call.ec2.describe_route_tables(RouteTableIds=[table_id]), "RouteTables"))


def _target(call: Call) -> dict[str, str]:
    given = {key: call.inputs[name] for name, key in TARGETS.items() if call.inputs.get(name)}
    if len(given) != 1:
        raise AwsRefusedError(f"a route has one target, this one has {len(given)}: {', '.join(given) or 'none'}")
    return given


def _create_route(call: Call) -> str:
    table, destination = call.inputs["routeTableId"], call.inputs["destinationCidrBlock"]
    try:
        call.ec2.create_route(RouteTableId=table, DestinationCidrBlock=destination, **_target(call))
    except Exception as problem:
        if code_of(problem) != "RouteAlreadyExists" or not _same_target(call, table, destination):
            raise
    return f"r-{table}{destination}"


def _same_target(call: Call, table: str, destination: str) -> bool:
    """Whether a route that is there already is the one that is wanted: a killed creation left it."""
    call.old = {"routeTableId": table, "destinationCidrBlock": destination}
    found = _read_route(call) or {}
    return all(found.get(name) == call.inputs.get(name, "") for name in TARGETS)


def _replace_route(call: Call) -> None:
    inputs = call.inputs
    call.ec2.replace_route(
        RouteTableId=inputs["routeTableId"], DestinationCidrBlock=inputs["destinationCidrBlock"], **_target(call)
    )


def _read_route(call: Call) -> dict[str, Any] | None:
    table = _table(call, call.old["routeTableId"])
    for item in table["Routes"] if table else []:
        if item.get("DestinationCidrBlock") == call.old["destinationCidrBlock"]:
            return {
                "routeTableId": call.old["routeTableId"],
                "destinationCidrBlock": item["DestinationCidrBlock"],
                "origin": item.get("Origin", "CreateRoute"),
                "state": item.get("State", "active"),
                **{name: item.get(key, "") for name, key in TARGETS.items()},
            }
    return None


def _associations(call: Call, table_id: str) -> list[dict[str, Any]]:
    table = _table(call, table_id)
    found: list[dict[str, Any]] = table["Associations"] if table else []
    return found


def _read_association(call: Call) -> dict[str, Any] | None:
    for item in _associations(call, call.old.get("routeTableId") or call.inputs["routeTableId"]):
        if item["RouteTableAssociationId"] == call.id:
            return {"subnetId": item.get("SubnetId", ""), "routeTableId": item["RouteTableId"]}
    return None
