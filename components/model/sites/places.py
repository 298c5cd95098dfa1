"""Facts about an environment that clouds need, one site at a time."""

from __future__ import annotations

from ipaddress import IPv4Network
from typing import Any

from clouds.base.place import Place
from clouds.base.ranges import SiteRanges
from clouds.base.site import ZONES
from clouds.registry import cloud_of
from components.model.backups.storage import account_name
from components.model.environment import Environment
from components.model.network.address_plan import AddressPlan, SitePlan
from components.model.network.links import has_tunnels
from components.model.vpn.section import MACHINES
from contract.documents.node_place import POD_PREFIX


def name_prefix(environment: Environment) -> str:
    """Return the prefix of every name in clouds, with its hyphen; may be empty."""
    return f"{environment.naming.prefix}-" if environment.naming.prefix else ""


def place_of(environment: Environment, site: str) -> Place[Any]:
    """Return the facts about the site called ``site`` for its cloud; raise ``KeyError`` when there is no such site."""
    control = environment.control_plane.site
    possible = control in environment.sites and cloud_of(environment.sites[control]).holds_control_plane
    return Place(
        environment=environment.name,
        prefix=name_prefix(environment),
        domain=environment.domain,
        name=site,
        site=environment.sites[site],
        control=control if possible else "",
        is_control=site == control,
        has_tunnels=has_tunnels(environment, site),
        has_backups=environment.backups is not None,
        backup_account=account_name(environment) if possible and environment.backups is not None else "",
        scales=environment.scales,
        vpn_machines=MACHINES if environment.vpn and site == control else 0,
        pools={name: pool for name, pool in environment.pools.items() if pool.site == site},
    )


def site_ranges(addresses: AddressPlan, site: str) -> SiteRanges:
    """Return the ranges of the site called ``site`` for its cloud."""
    return ranges_of_plan(addresses.supernet, addresses.sites[site])


def ranges_of_plan(supernet: IPv4Network, plan: SitePlan) -> SiteRanges:
    """Return the ranges of one site's plan for its cloud."""
    return SiteRanges(
        supernet=supernet,
        block=plan.block,
        parts={part: plan.subnet(part) for part in ("gateway", "etcd", "events", "api", "vpn")} | {"nodes": plan.pods},
        zones=tuple(plan.zone_pods(index) for index in range(ZONES)),
        pods_each=2 ** (32 - POD_PREFIX),
    )
