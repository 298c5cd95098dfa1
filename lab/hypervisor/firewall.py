"""Renders one router's rules as one nftables document, which is applied atomically.

A packet of a machine passes, in this order:

- the source check, which drops a spoofed address;
- the sender's rules for ``out``, where its veth comes in, before any translation;
- the translation of load balancers and of the service endpoint;
- routing;
- the target's rules for ``in``, where its veth goes out, after translation.

So a client's rules see the frontend, and a backend's rules see the client and the backend port, as with network
security groups. Health probes start in the router, and the target's rules apply to the probes too. A packet from the
internet to a public address is also translated first: the target's rules see the packet's public source address and the
private target address.

Flows that were allowed stay allowed when rules change. A frontend without a healthy backend drops new flows, while old
ones continue ("probe down behavior" of the Standard SKU):
https://learn.microsoft.com/azure/load-balancer/load-balancer-custom-probe-overview
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, collapse_addresses

from contract.project import PROJECT
from lab.desired import DesiredBalancer, DesiredMachine, DesiredRule, Network
from lab.hypervisor import addresses
from lab.hypervisor.addresses import AddressRanges
from lab.hypervisor.router_links import RouterLink, sending_ranges

TABLE = PROJECT
_EVERYWHERE = IPv4Network("0.0.0.0/0")


@dataclass(frozen=True, kw_only=True)
class Healthy:
    """A load balancer and the backends that take new flows."""

    balancer: DesiredBalancer
    backends: tuple[IPv4Address, ...]


def render(
    *,
    network: Network,
    machines: Sequence[DesiredMachine],
    balancers: Sequence[Healthy],
    plan: AddressRanges,
    router_links: Sequence[RouterLink] = (),
) -> str:
    """Return the document for ``nft -f -`` that replaces the router's whole table."""
    here = sorted((machine for machine in machines if machine.network == network.id), key=lambda machine: machine.name)
    chains = [chain for machine in here for chain in _machine_chains(machine)]
    hooks = [
        _source_check(here, router_links, plan),
        _egress_hook(here),
        _translation(network, here, [item for item in balancers if item.balancer.network == network.id]),
        _forwarding(network, here, router_links, plan),
        _input(here if network.metadata else []),
        _ingress_hook(here),
        _leaving(network, here),
    ]
    body = "\n".join([*chains, *hooks])
    return f"table ip {TABLE}\ndelete table ip {TABLE}\ntable ip {TABLE} {{\n{body}}}\n"


def _chain(name: str, lines: Iterable[str]) -> str:
    return f"\tchain {name} {{\n" + "".join(f"\t\t{line}\n" for line in lines) + "\t}\n"


def _hook(name: str, kind: str, place: str, lines: Iterable[str], *, policy: str = "accept") -> str:
    return _chain(name, [f"type {kind} hook {place}; policy {policy};", *lines])


def _source_check(machines: Sequence[DesiredMachine], router_links: Sequence[RouterLink], plan: AddressRanges) -> str:
    lines = [f'iifname "{_link(machine)}" ip saddr != {_sending_ranges(machine)} drop' for machine in machines]
    lines += [f'iifname "{router_link.link}" {_not_from(router_link.origins)}drop' for router_link in router_links]
    lines.append(f'iifname "{addresses.OPERATOR_LINK}" ip saddr != {plan.operators} drop')
    return _hook("source_check", "filter", "prerouting priority raw", lines)


def _egress_hook(machines: Sequence[DesiredMachine]) -> str:
    lines = ["ct state established,related accept", "ct state invalid drop"]
    # In Azure, security groups do not apply to the platform's DNS and metadata.
    lines.append(f"ip daddr {{ {addresses.PLATFORM}, {addresses.METADATA} }} accept")
    lines += _dispatch("iifname", "out", machines)
    return _hook("egress", "filter", "prerouting priority mangle", lines)


def _ingress_hook(machines: Sequence[DesiredMachine]) -> str:
    lines = ["ct state established,related accept", *_dispatch("oifname", "in", machines)]
    return _hook("ingress", "filter", "postrouting priority filter", lines)


def _dispatch(key: str, direction: str, machines: Sequence[DesiredMachine]) -> list[str]:
    """Return rules that send packets to each machine's chain; a link that has no rules yet passes nothing."""
    verdicts = ", ".join(f'"{_link(machine)}" : goto {_chain_name(direction, machine)}' for machine in machines)
    return [*([f"{key} vmap {{ {verdicts} }}"] if machines else []), f'{key} "m-*" drop']


def _sending_ranges(machine: DesiredMachine) -> str:
    """Return the ranges from which a machine may send: its address, and the other ranges that the network delivers to
    it."""
    return _set([IPv4Network(machine.address.ip), *machine.routed]) if machine.routed else str(machine.address.ip)


def _not_from(ranges: Sequence[IPv4Network]) -> str:
    return f"ip saddr != {_set(ranges)} " if ranges else ""


def _translation(network: Network, machines: Sequence[DesiredMachine], balancers: Sequence[Healthy]) -> str:
    lines = []
    near = [
        range_ for subnet in network.subnets if subnet.service_endpoint for range_ in sending_ranges(subnet, machines)
    ]
    if near:
        lines.append(
            f"ip saddr {_set(near)} ip daddr {addresses.SERVICES} tcp dport 443 dnat to {addresses.SITE_SERVICES}"
        )
    lines += [
        f'iifname "{addresses.UPLINK}" ip daddr {public} dnat to {private}'
        for public, private in sorted(network.public.items())
    ]
    lines += [_balance(item) for item in sorted(balancers, key=lambda item: item.balancer.id) if item.backends]
    return _hook("translation", "nat", "prerouting priority dstnat", lines)


def _balance(item: Healthy) -> str:
    target = item.balancer
    choices = ", ".join(
        f"{place} : {backend} . {target.backend_port}" for place, backend in enumerate(sorted(item.backends))
    )
    flow = "jhash ip saddr . tcp sport . ip daddr . tcp dport"
    return (
        f"ip daddr {target.frontend} tcp dport {target.port} "
        f"dnat ip addr . port to {flow} mod {len(item.backends)} map {{ {choices} }}"
    )


def _forwarding(
    network: Network, machines: Sequence[DesiredMachine], router_links: Sequence[RouterLink], plan: AddressRanges
) -> str:
    lines = [
        "ct state established,related accept",
        f'iifname "{addresses.UPLINK}" oifname "m-*" ct status dnat accept',
        f'iifname "{addresses.UPLINK}" drop',
        'oifname "m-*" accept',
    ]
    for subnet in network.subnets:
        if subnet.egress:
            sources, inside = _set(sending_ranges(subnet, machines)), _inside(network, plan)
            lines.append(f'iifname "m-*" oifname "{addresses.UPLINK}" ip saddr {sources} ip daddr != {inside} accept')
    if network.public:
        sources, inside = _set(list(map(IPv4Network, network.public.values()))), _inside(network, plan)
        lines.append(f'iifname "m-*" oifname "{addresses.UPLINK}" ip saddr {sources} ip daddr != {inside} accept')
    for router_link in router_links:
        for permit in router_link.permits:
            between = f"ip saddr {_set(permit.sources)} ip daddr {permit.destination}"
            lines.append(f'iifname "m-*" oifname "{router_link.link}" {between} accept')
    return _hook("forwarding", "filter", "forward priority filter", lines, policy="drop")


def _inside(network: Network, plan: AddressRanges) -> str:
    return _set([plan.supernet, *network.ranges])


def _input(known: Sequence[DesiredMachine]) -> str:
    lines = [
        "ct state established,related accept",
        'iifname "lo" accept',
        f'iifname "m-*" ip daddr {addresses.PLATFORM} meta l4proto {{ tcp, udp }} th dport 53 accept',
        f'iifname "m-*" ip daddr {addresses.DEPOT} tcp dport 443 accept',
        f'iifname "m-*" ip daddr {addresses.SITE_SERVICES} tcp dport 443 ct status dnat accept',
    ]
    if known:
        # A machine's pods have addresses of their own and must not get its identity: only its own address is admitted.
        themselves = ", ".join(str(machine.address.ip) for machine in known)
        lines.append(f'iifname "m-*" ip saddr {{ {themselves} }} ip daddr {addresses.METADATA} tcp dport 80 accept')
    return _hook("input", "filter", "input priority filter", lines, policy="drop")


def _leaving(network: Network, machines: Sequence[DesiredMachine]) -> str:
    uplink = f'oifname "{addresses.UPLINK}"'
    lines = [
        f"{uplink} ip saddr {_set(sending_ranges(subnet, machines))} snat to {_any_of(subnet.egress)}"
        for subnet in network.subnets
        if subnet.egress
    ]
    # A subnet's NAT gateway comes before a machine's own address: learn.microsoft.com/azure/nat-gateway/nat-overview.
    lines += [f"{uplink} ip saddr {private} snat to {public}" for public, private in sorted(network.public.items())]
    return _hook("leaving", "nat", "postrouting priority srcnat", lines)


def _any_of(egress: Sequence[IPv4Address]) -> str:
    """Return the address for a new connection: of several any, as in Azure (azure-docs ``nat-gateway-snat.md``)."""
    if len(egress) == 1:
        return str(egress[0])
    choices = ", ".join(f"{place} : {address}" for place, address in enumerate(egress))
    return f"numgen random mod {len(egress)} map {{ {choices} }}"


def _link(machine: DesiredMachine) -> str:
    return addresses.machine_link(machine.name)


def _chain_name(direction: str, machine: DesiredMachine) -> str:
    return f"{direction}-{_link(machine)}".replace("-", "_")


def _machine_chains(machine: DesiredMachine) -> list[str]:
    # A flow that a load balancer sends back to its own sender is lost, as in Azure.
    hairpin = [f"ip saddr {machine.address.ip} drop"]
    return [
        _chain(_chain_name("out", machine), _rules(machine.rules, "out")),
        _chain(_chain_name("in", machine), [*hairpin, *_rules(machine.rules, "in")]),
    ]


def _rules(rules: Sequence[DesiredRule], direction: str) -> list[str]:
    chosen = sorted(
        (rule for rule in rules if rule.direction == direction), key=lambda rule: (rule.priority, rule.name)
    )
    return [_rule(rule) for rule in chosen] + ["drop"]


def _rule(rule: DesiredRule) -> str:
    words = []
    if rule.sources:
        words += _addresses("saddr", rule.sources)
    if rule.destinations:
        words += _addresses("daddr", rule.destinations)
    if rule.protocol in ("tcp", "udp") and rule.ports:
        words.append(f"{rule.protocol} dport {_ports(rule.ports)}")
    elif rule.ports and rule.protocol == "any":
        words.append(f"meta l4proto {{ tcp, udp }} th dport {_ports(rule.ports)}")
    elif rule.protocol != "any":
        words.append(f"meta l4proto {rule.protocol}")
    return " ".join([*words, "accept" if rule.allow else "drop"])


def _addresses(side: str, ranges: Collection[IPv4Network]) -> list[str]:
    return [] if _EVERYWHERE in ranges else [f"ip {side} {_set(ranges)}"]


def _set(ranges: Collection[IPv4Network]) -> str:
    return "{ " + ", ".join(str(item) for item in collapse_addresses(ranges)) + " }"


def _ports(ranges: Sequence[tuple[int, int]]) -> str:
    """Return the ranges as a set, merged: nftables refuses overlapping ones."""
    merged: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    return "{ " + ", ".join(f"{first}-{last}" if first != last else str(first) for first, last in merged) + " }"
