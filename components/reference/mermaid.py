"""Picture of the environment as a Mermaid flowchart: sites, control plane, pools, racks and links."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from clouds.registry import cloud_of
from components.model.environment import Environment
from components.model.network.address_plan import plan
from components.model.network.links import LinkKind, links
from components.model.sites.section import Site

_LINES = {
    LinkKind.BACKBONE: "<== backbone ==>",
    LinkKind.IPSEC: "<-. IPsec .->",
    LinkKind.EXISTING: "<-- existing circuit -->",
}


def topology(environment: Environment) -> str:
    """Render a Mermaid flowchart of ``environment``, without the fence around it."""
    hosts = Counter(host.site for host in environment.hosts)
    lines = ["flowchart TB"]
    for name, site in environment.sites.items():
        lines.append(f'  subgraph {_id(name)}["{_title(environment, name, site)}"]')
        if name == environment.control_plane.site:
            lines += _control_plane(environment)
        lines += _pools(environment, name)
        if not cloud_of(site).rents:
            lines += _hosts(environment, name, site, hosts=hosts[name])
        lines.append("  end")
    lines += (f"  {_id(link.first)} {_LINES[link.kind]} {_id(link.second)}" for link in links(environment))
    return "\n".join(lines) + "\n"


def _id(*parts: str) -> str:
    """Return the id of a node in the flowchart. It is not one of Mermaid's keywords (such as ``end``), has no hyphens
    (arrows are made of them), and is unique: Longhaul's names hold no underscore and no two hyphens in a row."""
    return "__".join(("n", *(part.replace("-", "_") for part in parts)))


def _title(environment: Environment, name: str, site: Site) -> str:
    where = f"{cloud_of(site).title} {site.region}".rstrip()
    return f"{name}: {where}, {plan(environment).sites[name].block}"


def _control_plane(environment: Environment) -> Iterator[str]:
    control = environment.control_plane
    api, etcd, events = control.api, control.etcd, control.events
    yield f'    control_name(["{environment.api_name}:{api.port}"])'
    yield f'    control_api["API servers: {api.servers} × {api.machine_type}"]'
    yield f'    control_etcd[("etcd: {etcd.members} × {etcd.machine_type}")]'
    yield f'    control_events[("etcd for events: {events.members} × {events.machine_type}")]'
    yield "    control_name --> control_api"
    yield "    control_api --> control_etcd"
    yield "    control_api --> control_events"


def _pools(environment: Environment, site: str) -> Iterator[str]:
    for name, pool in environment.pools.items():
        if pool.site == site:
            count = f"{pool.min} to {pool.max}" if pool.min < pool.max else str(pool.max)
            spot = ", spot" if pool.spot else ""
            yield f'    {_id(site, name)}["pool {name}: {count} × {pool.machine_type}{spot}"]'


def _hosts(environment: Environment, name: str, site: Site, *, hosts: int) -> Iterator[str]:
    yield f'    {_id(name, "hosts")}["{hosts} host{"" if hosts == 1 else "s"}"]'
    for gateway in site.gateways:
        yield f'    {_id(name, "gateway", gateway.name)}{{{{"gateway {environment.name}-{gateway.name}"}}}}'
