"""The address plan as Markdown tables, for `docs/address-plan.md`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from ipaddress import IPv4Network

from components.model.control_plane.machines import Role, control_machines
from components.model.environment import Environment
from components.model.hosts.places import host_places
from components.model.network.address_plan import (
    FRONTEND,
    INFRA_SUBNETS,
    AddressPlan,
    SitePlan,
    machine_capacity,
    plan,
    site_plan,
)
from components.model.network.cluster_dns import site_dns_addresses


def environment_table(environment: Environment) -> str:
    """Render the table of the supernet's parts."""
    addresses = plan(environment)
    rows = [(f"`{name}`", _code(site.block), _count(site.block)) for name, site in addresses.sites.items()]
    rows += [
        ("services", _code(addresses.services), _count(addresses.services)),
        ("operators", _code(addresses.operators), _count(addresses.operators)),
        ("laptops", _code(addresses.laptops), _count(addresses.laptops)),
        ("address of the `kubernetes` service", f"`{addresses.kubernetes_service}`", ""),
        ("address of the DNS service", f"`{addresses.dns_service}`", ""),
        *(
            (f"address of the DNS servers of `{name}`", f"`{address}`", "")
            for name, address in site_dns_addresses(addresses).items()
        ),
    ]
    return _table(("Part", f"Of {addresses.supernet}", "Addresses"), rows)


def site_table(environment: Environment, name: str) -> str:
    """Render the table of one site's block, down to single machines."""
    addresses = plan(environment)
    site = addresses.sites[name]
    rows = [("infrastructure", _code(site.infra), _count(site.infra))]
    rows += [(f"— `{part}` subnet", _code(site.subnet(part)), _count(site.subnet(part))) for part in INFRA_SUBNETS]
    rows += [("nodes", _code(site.nodes), _count(site.nodes)), *_zones(environment, name, site)]
    rows += [
        ("pods", _code(site.pods), f"{site.pods.num_addresses:,}: {2 ** (28 - site.pods.prefixlen):,} nodes of /28")
    ]
    if name == environment.control_plane.site:
        rows += _machines(environment, addresses)
    rows += _hosts(environment, addresses, name)
    return _table(("Part", f"Of {site.block}", "Addresses"), rows)


def sizes_table() -> str:
    """Return the table of the capacity of each block size."""
    rows = []
    for prefix in range(8, 21):
        site = site_plan(IPv4Network((10 << 24, prefix)))
        machines = machine_capacity(site.subnet("api"))
        rows.append((f"/{prefix}", f"{site.hosts:,}", f"{site.nodes.num_addresses:,}", f"{machines:,}"))
    return _table(("Block", "Nodes, by their pods", "Node addresses", "Machines in a control-plane subnet"), rows)


def _zones(environment: Environment, name: str, site: SitePlan) -> Iterator[tuple[str, str, str]]:
    for index, zone in enumerate(environment.sites[name].zones):
        subnet = site.zone_subnet(index)
        yield f"— zone {zone}", _code(subnet), f"{_count(subnet)}; their pods {site.zone_pods(index)}"


def _machines(environment: Environment, addresses: AddressPlan) -> Iterator[tuple[str, str, str]]:
    frontend = addresses.sites[environment.control_plane.site].subnet(Role.API)[FRONTEND]
    yield f"`{environment.api_name}`", f"`{frontend}`", "the load balancer"
    for machine in control_machines(environment, addresses):
        yield f"`{machine.name}`", f"`{machine.address}`", f"zone {machine.zone}" if machine.zone else ""


def _hosts(environment: Environment, addresses: AddressPlan, name: str) -> Iterator[tuple[str, str, str]]:
    places = [place for place in host_places(environment, addresses) if place.site == name]
    for place in dict.fromkeys((*places[:2], *places[-1:])):
        yield f"`{place.name}`", f"`{place.address}`", f"its pods {place.pods}"


def _code(range_: IPv4Network) -> str:
    return f"`{range_}`"


def _count(range_: IPv4Network) -> str:
    return f"{range_.num_addresses:,}"


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)
