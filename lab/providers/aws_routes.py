"""Route tables and routes."""

from __future__ import annotations

from typing import Any

from lab.providers.aws_calls import (
    AwsRefusedError,
    AwsResourceType,
    Call,
    Described,
    arn,
    code_of,
    deletes,
    gone_is_fine,
    specification,
)

TARGETS = {
    "gatewayId": "GatewayId",
    "natGatewayId": "NatGatewayId",
    "vpcPeeringConnectionId": "VpcPeeringConnectionId",
}

TABLES = Described(operation="describe_route_tables", answer="RouteTables", key="RouteTableId")


def route_kinds() -> tuple[AwsResourceType, ...]:
    """Return the resource types of this table."""
    return (
        AwsResourceType(
            type="aws:ec2/routeTable:RouteTable",
            inputs="vpcId",
            forced="vpcId",
            create=lambda call: str(
                call.ec2.create_route_table(
                    VpcId=call.inputs["vpcId"], TagSpecifications=specification("route-table", call)
                )["RouteTable"]["RouteTableId"]
            ),
            look=TABLES.find,
            outputs=_table_outputs,
            delete=deletes("delete_route_table", "RouteTableId", busy=("DependencyViolation",)),
            find=TABLES.left,
            tagged=True,
        ),
        AwsResourceType(
            type="aws:ec2/route:Route",
            inputs=f"routeTableId destinationCidrBlock {' '.join(TARGETS)}",
            forced="routeTableId destinationCidrBlock",
            create=_create_route,
            look=_route,
            outputs=_route_outputs,
            update=_replace_route,
            delete=lambda call: gone_is_fine(
                lambda: call.ec2.delete_route(
                    RouteTableId=call.old["routeTableId"], DestinationCidrBlock=call.old["destinationCidrBlock"]
                )
            ),
        ),
        AwsResourceType(
            type="aws:ec2/routeTableAssociation:RouteTableAssociation",
            inputs="subnetId routeTableId",
            forced="subnetId",
            create=lambda call: str(
                call.ec2.associate_route_table(
                    RouteTableId=call.inputs["routeTableId"], SubnetId=call.inputs["subnetId"]
                )["AssociationId"]
            ),
            look=_association,
            outputs=lambda _call, described: {
                "subnetId": described.get("SubnetId", ""),
                "routeTableId": described["RouteTableId"],
            },
            delete=deletes("disassociate_route_table", "AssociationId"),
            find=lambda call: [
                item["RouteTableAssociationId"]
                for item in _associations(call, call.inputs["routeTableId"])
                if item.get("SubnetId") == call.inputs["subnetId"]
            ],
        ),
    )


def _table_outputs(call: Call, described: dict[str, Any]) -> dict[str, Any]:
    return {
        "arn": arn(call, "route-table", described["OwnerId"], call.id),
        "vpcId": described["VpcId"],
        "ownerId": described["OwnerId"],
    }


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
    """Return whether an existing route is the wanted route, left by a killed creation."""
    call.old = {"routeTableId": table, "destinationCidrBlock": destination}
    route = _route(call) or {}
    return all(route.get(key, "") == call.inputs.get(name, "") for name, key in TARGETS.items())


def _replace_route(call: Call) -> None:
    inputs = call.inputs
    call.ec2.replace_route(
        RouteTableId=inputs["routeTableId"], DestinationCidrBlock=inputs["destinationCidrBlock"], **_target(call)
    )


def _route(call: Call) -> dict[str, Any] | None:
    table, destination = TABLES.find(call, call.old["routeTableId"]), call.old["destinationCidrBlock"]
    routes = table["Routes"] if table else []
    return next((item for item in routes if item.get("DestinationCidrBlock") == destination), None)


def _route_outputs(call: Call, described: dict[str, Any]) -> dict[str, Any]:
    return {
        "routeTableId": call.old["routeTableId"],
        "destinationCidrBlock": described["DestinationCidrBlock"],
        "origin": described.get("Origin", "CreateRoute"),
        "state": described.get("State", "active"),
        **{name: described.get(key, "") for name, key in TARGETS.items()},
    }


def _associations(call: Call, table_id: str) -> list[dict[str, Any]]:
    table = TABLES.find(call, table_id)
    associations: list[dict[str, Any]] = table["Associations"] if table else []
    return associations


def _association(call: Call) -> dict[str, Any] | None:
    associations = _associations(call, call.old.get("routeTableId") or call.inputs["routeTableId"])
    return next((item for item in associations if item["RouteTableAssociationId"] == call.id), None)
