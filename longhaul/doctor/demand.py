"""What an environment takes of the clouds' quotas: cores by machine type, addresses, networks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from clouds.azure.groups import has_infiniband
from clouds.azure.made import makes_egress
from clouds.onprem.site import OnpremSite
from clouds.registry import cloud_of
from components.model import Environment
from components.model.machines import Role
from components.model.places import place_of
from longhaul.prices.needs import AZURE_GATEWAY_ADDRESSES


@dataclass(frozen=True, kw_only=True)
class Machines:
    """Machines of one type that a part of the environment wants in one site."""

    site: str
    key: tuple[str, ...]
    """Where the file asks for them."""
    machine_type: str
    vcpus: int
    """Virtual cores of each."""
    least: int
    most: int
    spot: bool = False
    store: bool = False
    """Whether they keep data on local SSD."""
    zonal: bool = True
    """Whether they are put into the site's zones."""


def machines(environment: Environment) -> tuple[Machines, ...]:
    """All of them in clouds, the control plane's first."""
    return (*_control_plane(environment), *_pools(environment))


def _control_plane(environment: Environment) -> Iterator[Machines]:
    control = environment.control_plane
    for role, count, machine_type in (
        (Role.ETCD, control.etcd.members, control.etcd.machine_type),
        (Role.EVENTS, control.events.members, control.events.machine_type),
        (Role.API, control.api.servers, control.api.machine_type),
    ):
        yield Machines(
            site=control.site,
            key=("control_plane", str(role)),
            machine_type=machine_type,
            vcpus=environment.machine_type(machine_type).vcpus,
            least=count,
            most=count,
            store=role.is_store,
        )


def _pools(environment: Environment) -> Iterator[Machines]:
    for name, pool in environment.pools.items():
        if not isinstance(environment.sites[pool.site], OnpremSite):
            yield Machines(
                site=pool.site,
                key=("pools", name),
                machine_type=pool.machine_type,
                vcpus=environment.machine_type(pool.machine_type).vcpus,
                least=pool.min,
                most=pool.max,
                spot=pool.spot,
                # components/azure/pools.py: a placement group is in one place, which Azure chooses.
                zonal=not has_infiniband(pool.machine_type),
            )


def azure_addresses(environment: Environment, site: str) -> int:
    """Public addresses that are made for a site on Azure: the NAT gateway's, and those of a VPN gateway."""
    place = place_of(environment, site)
    gateway = place.has_tunnels and cloud_of(place.site).made.makes_vpn_gateway(place.site)
    return int(makes_egress(place)) + (AZURE_GATEWAY_ADDRESSES if gateway else 0)
