"""The control plane's machines: names, addresses and zones, computed from the environment."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from ipaddress import IPv4Address

from components.model.address_plan import AddressPlan, role_addresses
from components.model.environment import Environment


class Role(StrEnum):
    """Role of a control-plane machine. The value is also the name of the role's subnet in the address plan."""

    ETCD = "etcd"
    EVENTS = "events"
    API = "api"

    @property
    def is_etcd(self) -> bool:
        """Return whether machines of this role are etcd members."""
        return self is not Role.API


@dataclass(frozen=True, kw_only=True)
class Machine:
    """One control-plane machine, ``<env>-<role>-<index>``."""

    name: str
    role: Role
    index: int
    site: str
    zone: str
    """Availability zone, empty where the site has none."""
    machine_type: str
    address: IPv4Address
    domain: str

    @property
    def fqdn(self) -> str:
        """Return the name in the environment's private zone."""
        return f"{self.name}.{self.domain}"


def _sizes(environment: Environment) -> dict[Role, tuple[int, str]]:
    control = environment.control_plane
    return {
        Role.ETCD: (control.etcd.members, control.etcd.machine_type),
        Role.EVENTS: (control.events.members, control.events.machine_type),
        Role.API: (control.api.servers, control.api.machine_type),
    }


def control_machines(environment: Environment, addresses: AddressPlan) -> tuple[Machine, ...]:
    """Return every control-plane machine, in the order in which they are made: etcd members first."""
    name = environment.control_plane.site
    site = environment.sites[name]
    zones = site.zones or ("",)
    return tuple(
        Machine(
            name=f"{environment.name}-{role}-{index}",
            role=role,
            index=index,
            site=name,
            zone=zones[index % len(zones)],
            machine_type=machine_type,
            address=address,
            domain=environment.domain,
        )
        for role, (count, machine_type) in _sizes(environment).items()
        for index, address in enumerate(role_addresses(addresses.sites[name].subnet(role), count))
    )


def members(machines: tuple[Machine, ...], role: Role) -> tuple[Machine, ...]:
    """Return the machines of one role, by index."""
    return tuple(machine for machine in machines if machine.role is role)
