"""Translates network security groups into the hypervisor's rules."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import IPv4Network
from typing import Any, Literal

from lab.desired import DesiredRule

CLOUD = IPv4Network("198.51.100.10/32")
"""Address of all of the lab's cloud services."""
LOAD_BALANCER = IPv4Network("168.63.129.16/32")
"""Source address of health probes: learn.microsoft.com/azure/virtual-network/what-is-ip-address-168-63-129-16."""
ANY = IPv4Network("0.0.0.0/0")
SERVICES = frozenset({"AzureKeyVault", "AzureCloud", "AzureResourceManager", "AzureActiveDirectory", "Storage"})

Network = tuple[IPv4Network, ...]


def merged(
    groups: list[list[dict[str, Any]]], *, virtual_network: Network, public: bool = False
) -> tuple[DesiredRule, ...]:
    """Return one ordered list with the effect of several groups applied one after the other, for both directions.

    Inbound traffic passes the subnet's group and then the interface's; outbound traffic passes them in the other order.
    Either group can stop it. In a list the first match decides, so the list cannot say that two groups must both allow.
    Instead, each allow of the first group is replaced by its intersections with the entries of the second, in order.

    ``public``: the interface has a public address of the Standard SKU, which admits no inbound traffic unless a group
    allows it (learn.microsoft.com/azure/virtual-network/ip-services/public-ip-addresses, "SKU").
    """
    if not groups:
        return (*([_closed(virtual_network)] if public else []), _open("in"), _open("out"))
    inbound = _product([_ordered(group, "in", virtual_network) for group in groups])
    outbound = _product([_ordered(group, "out", virtual_network) for group in groups])
    return (*inbound, *outbound)


def _ordered(
    group: list[dict[str, Any]], direction: Literal["in", "out"], virtual_network: Network
) -> list[DesiredRule]:
    wanted = "Inbound" if direction == "in" else "Outbound"
    rules = [_rule(item, direction, virtual_network) for item in group if item["properties"]["direction"] == wanted]
    return [*sorted(rules, key=lambda rule: rule.priority), *_defaults(direction, virtual_network)]


def _rule(item: dict[str, Any], direction: Literal["in", "out"], virtual_network: Network) -> DesiredRule:
    properties = item["properties"]
    protocols: dict[str, Literal["tcp", "udp", "icmp", "any"]] = {
        "Tcp": "tcp",
        "Udp": "udp",
        "Icmp": "icmp",
        "*": "any",
    }
    return DesiredRule(
        name=item["name"],
        priority=properties["priority"],
        direction=direction,
        allow=properties["access"] == "Allow",
        protocol=protocols[properties["protocol"]],
        sources=_networks(_both(properties, "sourceAddressPrefix", "sourceAddressPrefixes"), virtual_network),
        destinations=_networks(
            _both(properties, "destinationAddressPrefix", "destinationAddressPrefixes"), virtual_network
        ),
        ports=_ports(_both(properties, "destinationPortRange", "destinationPortRanges")),
    )


def _both(properties: dict[str, Any], singular: str, many: str) -> list[str]:
    return [*([properties[singular]] if properties.get(singular) else []), *properties.get(many, [])]


def _networks(prefixes: list[str], virtual_network: Network) -> Network:
    """Return the ranges of prefixes and service tags; empty means any."""
    networks: list[IPv4Network] = []
    for prefix in prefixes:
        tag = prefix.split(".")[0]
        if prefix == "*" or prefix == "0.0.0.0/0":
            return ()
        if tag == "VirtualNetwork":
            networks.extend(virtual_network)
        elif tag == "AzureLoadBalancer":
            networks.append(LOAD_BALANCER)
        elif tag == "Internet":
            networks.extend(internet(virtual_network))
        elif tag in SERVICES:
            networks.append(CLOUD)
        else:
            networks.append(IPv4Network(prefix, strict=False))
    return tuple(networks)


def internet(virtual_network: Network) -> Network:
    """Return the ranges of the ``Internet`` tag: all addresses except those of the virtual network, its peers and
    :data:`LOAD_BALANCER`."""
    left: list[IPv4Network] = [ANY]
    for taken in (*virtual_network, LOAD_BALANCER):
        left = [piece for range_ in left for piece in _without(range_, taken)]
    return tuple(sorted(left))


def _without(whole: IPv4Network, taken: IPv4Network) -> list[IPv4Network]:
    if not whole.overlaps(taken):
        return [whole]
    return [] if whole.subnet_of(taken) else list(whole.address_exclude(taken))


def _ports(ranges: list[str]) -> tuple[tuple[int, int], ...]:
    """Return inclusive port ranges; empty means any."""
    pairs = [("0", "-", "65535") if text == "*" else text.partition("-") for text in ranges]
    ports = tuple((int(low), int(high or low)) for low, _, high in pairs)
    return () if (0, 65535) in ports else ports


def _defaults(direction: Literal["in", "out"], virtual_network: Network) -> list[DesiredRule]:
    """Return Azure's default rules: learn.microsoft.com/azure/virtual-network/network-security-groups-overview,
    "Default security rules"."""
    if direction == "in":
        entries = [
            ("AllowVNetInBound", 65000, True, virtual_network, virtual_network),
            ("AllowAzureLoadBalancerInBound", 65001, True, (LOAD_BALANCER,), ()),
            ("DenyAllInBound", 65500, False, (), ()),
        ]
    else:
        entries = [
            ("AllowVnetOutBound", 65000, True, virtual_network, virtual_network),
            ("AllowInternetOutBound", 65001, True, (), internet(virtual_network)),
            ("DenyAllOutBound", 65500, False, (), ()),
        ]
    return [
        DesiredRule(
            name=name,
            priority=priority,
            direction=direction,
            allow=allow,
            protocol="any",
            sources=sources,
            destinations=targets,
        )
        for name, priority, allow, sources, targets in entries
    ]


def _open(direction: Literal["in", "out"]) -> DesiredRule:
    """Return a rule that allows everything, which applies when there is no group."""
    return DesiredRule(name="NoGroup", priority=65500, direction=direction, allow=True, protocol="any")


def _closed(virtual_network: Network) -> DesiredRule:
    return DesiredRule(
        name="StandardAddress",
        priority=65400,
        direction="in",
        allow=False,
        protocol="any",
        sources=internet(virtual_network),
    )


def _product(groups: list[list[DesiredRule]]) -> list[DesiredRule]:
    result = groups[0]
    for later in groups[1:]:
        result = [piece for rule in result for piece in (_narrowed(rule, later) if rule.allow else [rule])]
    if len(groups) == 1:
        return result
    return [_renumbered(rule, 100 + index) for index, rule in enumerate(result)]


def _narrowed(rule: DesiredRule, later: list[DesiredRule]) -> list[DesiredRule]:
    """Return the intersections of an allow rule with each entry of the next group, in order."""
    narrowed = []
    for other in later:
        both = _intersection(rule, other)
        if both is not None:
            narrowed.append(both)
    return narrowed


def _intersection(first: DesiredRule, second: DesiredRule) -> DesiredRule | None:
    protocol = _protocol(first, second)
    sources = _common(first.sources, second.sources)
    destinations = _common(first.destinations, second.destinations)
    ports = _common_ports(first.ports, second.ports)
    if protocol is None or sources is None or destinations is None or ports is None:
        return None
    return DesiredRule(
        name=f"{first.name}+{second.name}",
        priority=first.priority,
        direction=first.direction,
        allow=first.allow and second.allow,
        protocol=protocol,
        sources=sources,
        destinations=destinations,
        ports=ports,
    )


def _protocol(first: DesiredRule, second: DesiredRule) -> Literal["tcp", "udp", "icmp", "any"] | None:
    if first.protocol == "any":
        return second.protocol
    return first.protocol if second.protocol in ("any", first.protocol) else None


def _common(first: Network, second: Network) -> Network | None:
    """Return the ranges in both; ``None`` when there are none, because an empty tuple matches anything."""
    if not first or not second:
        return first or second
    common = {a if a.subnet_of(b) else b for a in first for b in second if a.overlaps(b)}
    return tuple(sorted(common)) or None


def _common_ports(
    first: tuple[tuple[int, int], ...], second: tuple[tuple[int, int], ...]
) -> tuple[tuple[int, int], ...] | None:
    if not first or not second:
        return first or second
    common = {(max(a, c), min(b, d)) for a, b in first for c, d in second if max(a, c) <= min(b, d)}
    return tuple(sorted(common)) or None


def _renumbered(rule: DesiredRule, priority: int) -> DesiredRule:
    return replace(rule, priority=priority)
