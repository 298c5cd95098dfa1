"""Finds the machine with a given name: a pool's machine or a host, which can be put into quarantine, or another
machine, which cannot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from clouds.registry import cloud_of
from components.model import control_machines, plan
from components.model.hosts.places import gateway_places
from components.model.nodes.host_nodes import host_nodes
from components.model.sites.places import place_of
from contract.documents.quarantine import Quarantined, format_time, is_name
from longhaul.terminal.exits import CommandError, Exit

if TYPE_CHECKING:
    from datetime import datetime

    from clouds.base.place import Place
    from clouds.base.quarantine import PoolQuarantine, Suspect
    from components.model import Environment
    from longhaul.vault.quarantine import QuarantineVault


@dataclass(frozen=True, kw_only=True)
class PoolMachine:
    """A machine of a pool, with its cloud's quarantine operations."""

    place: Place[Any]
    pool: str
    suspect: Suspect
    cloud: PoolQuarantine[Any]


def refuse_others(environment: Environment, name: str) -> None:
    """Raise ``CommandError`` with advice for a machine that cannot be put into quarantine."""
    env, addresses = environment.name, plan(environment)
    if name in {machine.name for machine in control_machines(environment, addresses)}:
        raise CommandError(
            f"{name} belongs to the control plane, which has no quarantine: `longhaul up --env {env} --replace "
            f"{name}` replaces its machine, and docs/quarantine.md lists the keys that may have leaked, and how to "
            "replace each",
            code=Exit.USAGE,
        )
    if name in {f"{env}-{gateway.name}" for gateway in gateway_places(environment, addresses)}:
        raise CommandError(
            f"{name} is a gateway, which its site cannot do without: reinstall its machine and write its new host "
            f"key, then `longhaul hosts --env {env} --limit {name}` (docs/hosts.md) and `longhaul rotate --env {env} "
            "tunnels`, whose keys it has",
            code=Exit.USAGE,
        )


def host_site(environment: Environment, name: str) -> str:
    """Return the site of a host; empty when no host has this name."""
    hosts = host_nodes(environment, plan(environment)).values()
    return next((host.place.site for host in hosts if host.node_name == name), "")


def pool_machine(environment: Environment, name: str) -> PoolMachine | None:
    """Return the pool's machine with a Node's name, as its cloud lists it; None when no cloud lists it."""
    for pool, declared in environment.pools.items():
        place = place_of(environment, declared.site)
        cloud = cloud_of(place.site)
        if cloud.quarantine is None or not cloud.groups.may_name(place, pool, name):
            continue
        suspect = cloud.quarantine.find(place, pool, name)
        if suspect is not None:
            return PoolMachine(place=place, pool=pool, suspect=suspect, cloud=cloud.quarantine)
    return None


def recorded_machine(environment: Environment, entry: Quarantined) -> PoolMachine | None:
    """Return the machine that an earlier run recorded; None for a host, for a machine that no longer exists, and for a
    machine whose site is no longer declared, since the site's cloud is then unknown."""
    from clouds.base.quarantine import Suspect

    if not entry.machine or entry.site not in environment.sites:
        return None
    place = place_of(environment, entry.site)
    cloud = cloud_of(place.site).quarantine
    if cloud is None:
        raise CommandError(f"{entry.name} belongs to site {entry.site}, whose cloud keeps no machines")
    suspect = Suspect(node=entry.name, group=entry.group, machine=entry.machine, wanted=entry.wanted)
    return PoolMachine(place=place, pool=entry.pool, suspect=suspect, cloud=cloud)


def begin_quarantine(record: QuarantineVault, name: str, *, now: datetime) -> tuple[Quarantined, PoolMachine | None]:
    """Return the entry of the list with which a run begins or continues, and the machine; None for a host and for a
    machine that no longer exists. Raise ``CommandError`` when no node can have had the name, or when it was
    released."""
    entry = record.read().find(name)
    if entry is not None and entry.released:
        raise CommandError(
            f"{name} was released; it is refused until {format_time(entry.refused_until())}, and nothing of it is left",
            code=Exit.USAGE,
        )
    if entry is not None and not entry.gone:
        return entry, recorded_machine(record.environment, entry)
    machine = pool_machine(record.environment, name)
    if machine is not None:
        return _entry(name, machine, now=now), machine
    if entry is not None:
        return entry, None
    site = host_site(record.environment, name)
    if site:
        return Quarantined(name=name, site=site, since=format_time(now)), None
    if not _may_have_been(record.environment, name):
        raise CommandError(
            f"{record.environment.name} has no machine and no host with the name {name}, and cannot have had one, "
            "since its nodes' names have another form: `longhaul status` shows them, and the audit log has each as "
            "system:node:NAME",
            code=Exit.USAGE,
        )
    # The machine has ended or has left its group, or the host is not declared any more; its key is stolen.
    return Quarantined(name=name, site="", since=format_time(now), gone=True), None


def _may_have_been(environment: Environment, name: str) -> bool:
    """Return whether a node of the environment may have had this name: a pool's machine, or a host or machine that is
    no longer declared."""
    places = ((place_of(environment, declared.site), pool) for pool, declared in environment.pools.items())
    like_a_machine = any(cloud_of(place.site).groups.may_name(place, pool, name) for place, pool in places)
    return is_name(name) and (like_a_machine or name.startswith(f"{environment.name}-"))


def _entry(name: str, machine: PoolMachine, *, now: datetime) -> Quarantined:
    return Quarantined(
        name=name,
        site=machine.place.name,
        since=format_time(now),
        pool=machine.pool,
        group=machine.suspect.group,
        machine=machine.suspect.machine,
        wanted=machine.suspect.wanted,
    )
