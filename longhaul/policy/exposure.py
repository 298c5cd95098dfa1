"""Nothing is at the internet but what the environment declares: the egress of its sites and their IPsec gateways."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Network
from typing import Any

from components.model.network import PRIVATE
from longhaul.policy.declared import Declared, parse_range
from longhaul.policy.resource import (
    AWS_BALANCER,
    AZURE_BALANCER,
    INSTANCE,
    LAUNCH_TEMPLATE,
    SCALE_SET,
    VIRTUAL_MACHINE,
    Resource,
)
from longhaul.policy.rule import Fault, Rule
from longhaul.policy.values import is_true, is_unknown, sections, shown, walk

ADDRESS_KEYS = ("publicIPAddress", "publicIPAddressConfiguration", "publicIPPrefix")
"""How Azure's interfaces and frontends are given public addresses (azure-native SDK, network and compute)."""

TARGETS = ("destinationCidrBlock", "destinationIpv6CidrBlock", "cidrBlock", "ipv6CidrBlock")
"""Where a route leads, in a resource of its own and in a table."""

NO_GATEWAY = ("vgw-", "local")
"""How a route's ``gatewayId`` begins when it is no internet gateway: a virtual private gateway, or the VPC itself."""

_ROUTE = "aws:ec2/route:Route"
_ROUTE_TABLES = ("aws:ec2/routeTable:RouteTable", "aws:ec2/defaultRouteTable:DefaultRouteTable")
_SUBNET = "aws:ec2/subnet:Subnet"


def _address(resource: Resource, declared: Declared) -> Iterator[Fault]:
    if resource.name not in declared.public:
        yield Fault(
            what=f"{resource.name} is a public address that no site's egress or IPsec gateway accounts for",
            write="no public address: what is outside comes in by the VPN, what is inside leaves by the site's egress",
        )


def _interface(resource: Resource, _: Declared) -> Iterator[Fault]:
    if resource.kind == INSTANCE:
        yield from _without_address("associatePublicIpAddress", resource.inputs.get("associatePublicIpAddress"))
        return
    if resource.kind == LAUNCH_TEMPLATE:
        interfaces = sections(resource.inputs, "networkInterfaces")
        if not interfaces:
            yield Fault(
                what="no networkInterfaces: whether machines get public addresses is left to the subnet",
                write="networkInterfaces with associatePublicIpAddress: false",
            )
        for place, interface in interfaces:
            yield from _without_address(f"{place}.associatePublicIpAddress", interface.get("associatePublicIpAddress"))
        return
    yield from _azure_addresses(resource.inputs)


def _without_address(place: str, value: Any) -> Iterator[Fault]:
    if value is not False and str(value).lower() != "false":
        yield Fault(what=f"{place} is {shown(value)}", write="associatePublicIpAddress: false")


def _azure_addresses(inputs: Any) -> Iterator[Fault]:
    for place, key, value in walk(inputs):
        if key in ADDRESS_KEYS and value is not None:
            yield Fault(what=f"{place} gives it a public address", write=f"no {key}")


def _balancer(resource: Resource, _: Declared) -> Iterator[Fault]:
    if resource.kind == AZURE_BALANCER:
        yield from _azure_addresses(resource.inputs)
    elif not is_true(resource.inputs.get("internal")):
        yield Fault(what=f"internal is {shown(resource.inputs.get('internal'))}", write="internal: true")


def _route(resource: Resource, declared: Declared) -> Iterator[Fault]:
    if resource.name in declared.public:
        return
    routes = [("", resource.inputs)] if resource.kind == _ROUTE else sections(resource.inputs, "routes")
    for place, route in routes:
        gateway = route.get("gatewayId")
        if not gateway or str(gateway).startswith(NO_GATEWAY):
            continue
        for target in (route.get(key) for key in TARGETS):
            if target is not None and not _private(target):
                yield Fault(
                    what=f"{f'{place}: ' if place else ''}a route for {shown(target)} by an internet gateway",
                    write="a route by the zone's NAT gateway; only the NAT gateways' own subnets reach the internet",
                )


def _private(target: object) -> bool:
    """Whether it can be another site: an internet gateway's id is not known before it is made, so what such a route is
    is told by where it leads."""
    network = parse_range(str(target))
    return isinstance(network, IPv4Network) and any(network.subnet_of(range_) for range_ in PRIVATE)


def _subnet(resource: Resource, _: Declared) -> Iterator[Fault]:
    for key in ("mapPublicIpOnLaunch", "assignIpv6AddressOnCreation"):
        value = resource.inputs.get(key)
        if is_true(value) or is_unknown(value):
            yield Fault(what=f"{key} is {shown(value)}: whatever starts in it is public", write=f"{key}: false")


RULES = (
    Rule(
        id="public-address",
        reason="Every public address is the egress of a site or its IPsec gateway: any other is a way in.",
        source="CIS Azure v4.0.0, 8.7; docs/network.md",
        kinds=frozenset(
            {
                "azure-native:network:PublicIPAddress",
                "azure-native:network:PublicIPPrefix",
                "aws:ec2/eip:Eip",
            }
        ),
        look=_address,
    ),
    Rule(
        id="public-interface",
        reason="No machine has a public address, said where the machine is declared and not left to its subnet.",
        source="AWS Security Hub EC2.9 and EC2.25; CIS Azure v4.0.0, 8.7",
        kinds=frozenset(
            {INSTANCE, LAUNCH_TEMPLATE, VIRTUAL_MACHINE, SCALE_SET, "azure-native:network:NetworkInterface"}
        ),
        look=_interface,
    ),
    Rule(
        id="public-load-balancer",
        reason="Load balancers are internal: the API is for the environment's own addresses.",
        source="docs/lessons.md, 9; docs/network.md",
        kinds=frozenset({AWS_BALANCER, AZURE_BALANCER, "aws:elb/loadBalancer:LoadBalancer"}),
        look=_balancer,
    ),
    Rule(
        id="public-route",
        reason="Only the subnets of NAT gateways have a route by an internet gateway: with one, an address is enough.",
        source="AWS Security Hub EC2.172; components/aws/network.py",
        kinds=frozenset({_ROUTE, *_ROUTE_TABLES}),
        look=_route,
    ),
    Rule(
        id="public-subnet",
        reason="No subnet hands out public addresses to what starts in it.",
        source="AWS Security Hub EC2.15",
        kinds=frozenset({_SUBNET}),
        look=_subnet,
    ),
)
