"""The control plane's machines: names, addresses and zones, computed from the environment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from ipaddress import IPv4Address

from components.model.environment import Environment
from components.model.network.address_plan import AddressPlan, machine_address, role_addresses
from components.model.vpn.section import MACHINES

MOST_MEMBERS = 7
"""Largest number of voting members of an etcd cluster: the model's limit, and etcd's own advice (etcd.io, "FAQ")."""

LEARNER = "learner"
"""Last part of the learner's name, ``<env>-etcd-learner``. It has no index, because there is at most one."""


class Role(StrEnum):
    """Role of a control-plane machine. The value is also the name of the role's subnet in the address plan."""

    ETCD = "etcd"
    EVENTS = "events"
    API = "api"
    VPN = "vpn"

    @property
    def is_etcd(self) -> bool:
        """Return whether machines of this role are etcd members."""
        return self in (Role.ETCD, Role.EVENTS)


@dataclass(frozen=True, kw_only=True)
class Machine:
    """One control-plane machine, ``<env>-<role>-<index>``; the learner is ``<env>-etcd-learner``."""

    name: str
    role: Role
    index: int
    site: str
    zone: str
    """Availability zone, empty where the site has none."""
    machine_type: str
    address: IPv4Address
    domain: str
    disk_gib: int = 0
    """Size of the network disk that holds its data, in GiB; 0 when a local SSD holds it."""

    @property
    def is_learner(self) -> bool:
        """Return whether it is the learner, the member that never votes."""
        return self.role is Role.ETCD and self.index == MOST_MEMBERS

    @property
    def fqdn(self) -> str:
        """Return the name in the environment's private zone."""
        return f"{self.name}.{self.domain}"


def role_sizes(environment: Environment) -> dict[Role, tuple[int, str]]:
    """Return the number of machines of each role and their type, without the learner. A role without machines in the
    environment is left out."""
    control, vpn = environment.control_plane, environment.vpn
    return {
        Role.ETCD: (control.etcd.members, control.etcd.machine_type),
        Role.EVENTS: (control.events.members, control.events.machine_type),
        Role.API: (control.api.servers, control.api.machine_type),
        **({Role.VPN: (MACHINES, vpn.machine_type)} if vpn else {}),
    }


def control_machines(environment: Environment, addresses: AddressPlan) -> tuple[Machine, ...]:
    """Return every control-plane machine, in the order in which they are made: etcd members first, the learner last."""
    name = environment.control_plane.site
    site = environment.sites[name]
    zones = site.zones or ("",)
    machines = tuple(
        Machine(
            name=f"{environment.name}-{role}-{index}",
            role=role,
            index=index,
            site=name,
            zone=zone_of(zones, index),
            machine_type=machine_type,
            address=address,
            domain=environment.domain,
        )
        for role, (count, machine_type) in role_sizes(environment).items()
        for index, address in enumerate(role_addresses(addresses.sites[name].subnet(role), count))
    )
    return (*machines, *_learner(environment, addresses))


def _learner(environment: Environment, addresses: AddressPlan) -> Iterator[Machine]:
    """Yield the learner of the main etcd cluster if the file declares it. Its address is the one after the seven of
    voting members, so no voting member ever has it."""
    control = environment.control_plane
    if control.etcd.learner is not None:
        yield Machine(
            name=learner_name(environment),
            role=Role.ETCD,
            index=MOST_MEMBERS,
            site=control.site,
            zone=control.etcd.learner.zone,
            machine_type=control.etcd.learner.machine_type,
            address=machine_address(addresses.sites[control.site].subnet(Role.ETCD), MOST_MEMBERS),
            domain=environment.domain,
            disk_gib=control.etcd.learner.disk_gib,
        )


def zone_of(zones: Sequence[str], index: int) -> str:
    """Return the zone of a role's machine ``index``: machines take the zones in turn."""
    return zones[index % len(zones)]


def learner_name(environment: Environment) -> str:
    """Return the name of the learner's machine, whether or not there is one."""
    return f"{environment.name}-{Role.ETCD}-{LEARNER}"


def members(machines: tuple[Machine, ...], role: Role) -> tuple[Machine, ...]:
    """Return the machines of one role, by index; for the main etcd cluster, only the voting members."""
    return tuple(machine for machine in machines if machine.role is role and not machine.is_learner)


def learners(machines: tuple[Machine, ...]) -> tuple[Machine, ...]:
    """Return the learner of the main etcd cluster, if there is one."""
    return tuple(machine for machine in machines if machine.is_learner)
