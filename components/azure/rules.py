"""Security rules of a site's parts on Azure, from the table ``components/model/network/allowed_traffic.py``."""

from __future__ import annotations

from collections.abc import Sequence

from pulumi_azure_native.network import SecurityRuleArgs

from clouds.azure.service_tags import cloud_tag
from components.azure.account import azure_site
from components.model import AddressPlan, Environment
from components.model.network.allowed_traffic import Direction, Flow, Peer, Protocol, flows
from components.model.nodes.joining import joining_ranges
from components.model.vpn.section import ANYWHERE

DIRECTIONS = {Direction.IN: "Inbound", Direction.OUT: "Outbound"}
PROTOCOLS = {Protocol.TCP: "Tcp", Protocol.UDP: "Udp", Protocol.ANY: "*"}

SERVICES = {
    Peer.BALANCER: "AzureLoadBalancer",
    Peer.VAULT: "AzureKeyVault",
    Peer.AZURE_API: "AzureResourceManager",
    Peer.AZURE_DIRECTORY: "AzureActiveDirectory",
    # AWS's API and issuers have no addresses that a rule could name.
    Peer.AWS_API: "Internet",
    Peer.ISSUERS: "Internet",
}
"""Azure's service tags."""

EVERY_PORT = ("0-65535",)


def part_rules(environment: Environment, addresses: AddressPlan, site: str, part: str) -> list[SecurityRuleArgs]:
    """Return the rules of one part of a site: ``etcd``, ``events``, ``api``, ``vpn`` or
    ``nodes``."""
    rules: list[SecurityRuleArgs] = []
    for direction in Direction:
        directed = [flow for flow in flows(environment, part) if flow.direction is direction]
        if direction is Direction.OUT and any(flow.peer is Peer.ANYWHERE for flow in directed):
            continue  # Azure's own rules allow that
        rules += [_rule(flow, _prefixes(flow.peer, environment, addresses, site=site, part=part)) for flow in directed]
        rules.append(_deny_rest(direction))
    return rules


def _prefixes(peer: Peer, environment: Environment, addresses: AddressPlan, *, site: str, part: str) -> Sequence[str]:
    plan = addresses.sites[site]
    match peer:
        case Peer.MEMBERS:
            return [str(plan.subnet(part))]
        case Peer.API_SERVERS:
            return [str(plan.subnet("api"))]
        case Peer.ENVIRONMENT:
            return [str(addresses.supernet)]
        case Peer.POOLS:
            return [str(range_) for range_ in joining_ranges(environment, addresses)]
        case Peer.LAPTOPS:
            # The tag `Internet` includes no address of the environment or of a circuit: pods need no VPN.
            sources = environment.vpn.sources if environment.vpn else ()
            return ["Internet" if range_ == ANYWHERE else str(range_) for range_ in sources]
        case Peer.CLOUD:
            return [cloud_tag(azure_site(environment, site).region)]
        case _:
            return [SERVICES[peer]]


def _rule(flow: Flow, prefixes: Sequence[str]) -> SecurityRuleArgs:
    (sources, targets) = (prefixes, ["*"]) if flow.direction is Direction.IN else (["*"], prefixes)
    return _written(
        flow.name,
        flow.rank,
        direction=flow.direction,
        protocol=flow.protocol,
        sources=sources,
        targets=targets,
        ports=flow.ports or EVERY_PORT,
    )


def _deny_rest(direction: Direction) -> SecurityRuleArgs:
    """Return a rule that denies everything else. It precedes Azure's own rules, which admit the whole virtual network,
    its peers, its VPN, and all outgoing traffic."""
    name = "deny-rest" if direction is Direction.IN else "deny-rest-out"
    return _written(name, 4096, access="Deny", direction=direction)


def _written(
    name: str,
    priority: int,
    *,
    access: str = "Allow",
    direction: Direction,
    protocol: Protocol = Protocol.ANY,
    sources: Sequence[str] = ("*",),
    targets: Sequence[str] = ("*",),
    ports: Sequence[str] = EVERY_PORT,
) -> SecurityRuleArgs:
    one_source, one_target = len(sources) == 1, len(targets) == 1
    return SecurityRuleArgs(
        name=name,
        priority=priority,
        direction=DIRECTIONS[direction],
        access=access,
        protocol=PROTOCOLS[protocol],
        source_address_prefix=sources[0] if one_source else None,
        source_address_prefixes=None if one_source else list(sources),
        source_port_range="*",
        destination_address_prefix=targets[0] if one_target else None,
        destination_address_prefixes=None if one_target else list(targets),
        destination_port_ranges=list(ports),
    )
