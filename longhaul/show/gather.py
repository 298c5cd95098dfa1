"""Collects the facts about an environment."""

from __future__ import annotations

from collections.abc import Iterator
from operator import attrgetter

from clouds.base.pool_section import Pool
from clouds.registry import cloud_of
from components.model import Environment, control_machines, plan
from components.model.control_plane.machines import Machine, Role, learners, members
from components.model.control_plane.size import most_nodes
from components.model.hosts.places import GatewayPlace, gateway_places, host_places
from components.model.network.address_plan import INFRA_SUBNETS, AddressPlan
from components.model.network.api_address import api_address
from components.model.network.capacity import site_uses
from components.model.network.link_throughput import link_limit, wanted_mbit
from components.model.network.links import links
from components.model.network.mtu import pod_mtu
from components.model.nodes.host_nodes import host_node_name
from components.model.pools.reservations import reservation_words
from components.model.secrets.vault import vault_name
from components.model.sites.cloud_names import pool_groups
from components.model.sites.places import place_of
from components.model.teams.queues import has_queues
from longhaul.show.counts import Bounds, GpuCount, by_model, exactly, total
from longhaul.show.overview import (
    CloudName,
    ControlMachineOverview,
    ControlPlaneView,
    ControlRole,
    GatewayView,
    HostsView,
    HostView,
    LinkView,
    Overview,
    PoolOverview,
    SiteView,
    Totals,
    ZoneRanges,
)
from longhaul.show.people import people


def gather_overview(environment: Environment) -> Overview:
    """Return all facts about a valid environment that are known without asking a cloud."""
    addresses = plan(environment)
    pools = tuple(_pools(environment))
    hosts = tuple(_hosts(environment, addresses))
    return Overview(
        name=environment.name,
        domain=environment.domain,
        supernet=addresses.supernet,
        services=addresses.services,
        kubernetes_service=addresses.kubernetes_service,
        dns_service=addresses.dns_service,
        operators=addresses.operators,
        laptops=addresses.laptops,
        pod_mtu=pod_mtu(environment),
        totals=_totals(environment, pools, hosts),
        sites=tuple(_sites(environment, addresses)),
        control_plane=_control_plane(environment, addresses),
        pools=pools,
        autoscaler=_autoscaler(environment),
        hosts=hosts,
        people=people(environment, addresses),
        queues=has_queues(environment),
        links=tuple(_links(environment)),
        names=tuple(_cloud_names(environment)),
    )


def _links(environment: Environment) -> Iterator[LinkView]:
    for link in links(environment):
        yield LinkView(
            first=link.first,
            second=link.second,
            kind=link.kind,
            limit=link_limit(environment, link),
            wanted_mbit=wanted_mbit(environment, link),
        )


def _totals(environment: Environment, pools: tuple[PoolOverview, ...], onprem: tuple[HostsView, ...]) -> Totals:
    hosts = sum(site.hosts for site in onprem)
    gpus = by_model((*(pool.gpus for pool in pools), *(count for site in onprem for count in site.gpus)))
    clouds = [site for site in environment.sites.values() if cloud_of(site).rents]
    return Totals(
        sites=len(environment.sites),
        regions=len({(site.kind, site.region) for site in clouds}),
        onprem_sites=len(onprem),
        nodes=Bounds(min=total(pool.nodes for pool in pools).min + hosts, max=most_nodes(environment)),
        gpus=total(each.count for each in gpus),
        gpus_by_model=gpus,
        control_machines=len(control_machines(environment, plan(environment))),
    )


def _sites(environment: Environment, addresses: AddressPlan) -> Iterator[SiteView]:
    uses = site_uses(environment, addresses)
    for name, site in environment.sites.items():
        ranges = addresses.sites[name]
        yield SiteView(
            name=name,
            kind=site.kind,
            region=site.region,
            block=ranges.block,
            infra=ranges.infra,
            nodes=ranges.nodes,
            pods=ranges.pods,
            subnets={part: ranges.subnet(part) for part in INFRA_SUBNETS if part != Role.VPN or environment.vpn},
            zones=tuple(
                ZoneRanges(zone=zone, nodes=ranges.zone_subnet(index), pods=ranges.zone_pods(index))
                for index, zone in enumerate(site.zones)
            ),
            most_nodes=uses[name].nodes,
            room=uses[name].room,
            room_left=uses[name].left,
            control_plane=name == environment.control_plane.site,
            existing=cloud_of(site).parts.existing_parts(site),
        )


def _control_plane(environment: Environment, addresses: AddressPlan) -> ControlPlaneView:
    machines = control_machines(environment, addresses)
    return ControlPlaneView(
        site=environment.control_plane.site,
        api_name=environment.api_name,
        api_address=api_address(environment, addresses),
        api_port=environment.control_plane.api.port,
        kubernetes=environment.versions.kubernetes,
        etcd=environment.versions.etcd,
        roles=tuple(_role(role, servers) for role in Role if (servers := members(machines, role))),
        learner=next((_machine(learner) for learner in learners(machines)), None),
        learner_type=next((learner.machine_type for learner in learners(machines)), ""),
    )


def _role(role: Role, machines: tuple[Machine, ...]) -> ControlRole:
    count = len(machines)
    return ControlRole(
        role=role,
        machine_type=machines[0].machine_type,
        survives=(count - 1) // 2 if role.is_etcd else count - 1,
        machines=tuple(map(_machine, machines)),
    )


def _machine(machine: Machine) -> ControlMachineOverview:
    return ControlMachineOverview(name=machine.name, zone=machine.zone, address=machine.address)


def _pools(environment: Environment) -> Iterator[PoolOverview]:
    for name, pool in _pools_by_site(environment):
        machine, nodes = environment.machine_type(pool.machine_type), Bounds(min=pool.min, max=pool.max)
        yield PoolOverview(
            name=name,
            site=pool.site,
            machine_type=pool.machine_type,
            nodes=nodes,
            spare=pool.spare,
            vcpus=machine.vcpus,
            memory_gib=machine.memory_gib,
            gpus_each=machine.gpus,
            gpus=GpuCount(model=machine.gpu_model, count=nodes.times(machine.gpus)),
            spot=pool.spot,
            reserved=reservation_words(pool.reservation),
            priority=pool.priority,
            fallbacks=pool.fallbacks,
            groups=pool_groups(environment, name),
        )


def _autoscaler(environment: Environment) -> str:
    return "off" if environment.autoscaler is None else "acts" if environment.scales else "looks"


def _hosts(environment: Environment, addresses: AddressPlan) -> Iterator[HostsView]:
    places = list(host_places(environment, addresses))
    gateways = list(gateway_places(environment, addresses))
    for name, site in environment.sites.items():
        if cloud_of(site).rents:
            continue
        placed = sorted((place for place in places if place.site == name), key=attrgetter("address"))
        hosts = [host for host in environment.hosts if host.site == name]
        yield HostsView(
            site=name,
            hosts=len(hosts),
            room=addresses.sites[name].hosts,
            gpus=by_model(GpuCount(model=host.gpu_model, count=exactly(host.gpus)) for host in hosts),
            first=placed[0].address if placed else None,
            last=placed[-1].address if placed else None,
            gateways=tuple(_gateway(environment, gateway) for gateway in gateways if gateway.site == name),
            machines=tuple(
                HostView(name=host_node_name(environment, place.name), address=place.address, pods=place.pods)
                for place in placed
            ),
        )


def _gateway(environment: Environment, place: GatewayPlace) -> GatewayView:
    name = f"{environment.name}-{place.name}"
    return GatewayView(name=name, address=place.address, public_address=place.public_address)


def _pools_by_site(environment: Environment) -> list[tuple[str, Pool]]:
    """Return pools by name, site by site, so that the pools of one site are together; within a site, in the file's
    order."""
    order = list(environment.sites)
    return sorted(environment.pools.items(), key=lambda item: order.index(item[1].site))


def _cloud_names(environment: Environment) -> Iterator[CloudName]:
    """Yield the names site by site: groups and networks first, pools last."""
    for name, site in environment.sites.items():
        cloud, place = cloud_of(site), place_of(environment, name)
        for main_name in cloud.names.main(place):
            yield CloudName(site=name, what=main_name.what, name=main_name.name, existing=main_name.existing)
        if place.is_control:
            yield CloudName(site=name, what="vault", name=vault_name(environment))
        for pool in place.pools:
            for group in cloud.groups.of_pool(place, pool):
                yield CloudName(site=name, what=cloud.groups.word, name=group.name, pool=pool)
