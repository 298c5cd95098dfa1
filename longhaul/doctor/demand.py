"""Machines that an environment needs in clouds."""

from __future__ import annotations

from collections.abc import Iterator

from clouds.base.doctor import MachineDemand
from clouds.registry import cloud_of
from components.model import Environment
from components.model.control_plane.machines import Role, role_sizes


def machines(environment: Environment) -> tuple[MachineDemand, ...]:
    """Return all machines in clouds, the control plane's first."""
    return (*_control_plane(environment), *_learner(environment), *_pools(environment))


def _control_plane(environment: Environment) -> Iterator[MachineDemand]:
    for role, (count, machine_type) in role_sizes(environment).items():
        yield MachineDemand(
            site=environment.control_plane.site,
            key=("vpn",) if role is Role.VPN else ("control_plane", str(role)),
            machine_type=machine_type,
            vcpus=environment.machine_type(machine_type).vcpus,
            least=count,
            most=count,
            etcd=role.is_etcd,
        )


def _learner(environment: Environment) -> Iterator[MachineDemand]:
    control = environment.control_plane
    if control.etcd.learner is not None:
        machine_type = control.etcd.learner.machine_type
        yield MachineDemand(
            site=control.site,
            key=("control_plane", "etcd", "learner"),
            machine_type=machine_type,
            vcpus=environment.machine_type(machine_type).vcpus,
            least=1,
            most=1,
            zones=(control.etcd.learner.zone,),
            durable_disk=True,
        )


def _pools(environment: Environment) -> Iterator[MachineDemand]:
    for name, pool in environment.pools.items():
        if cloud_of(environment.sites[pool.site]).rents:
            yield MachineDemand(
                site=pool.site,
                key=("pools", name),
                machine_type=pool.machine_type,
                vcpus=environment.machine_type(pool.machine_type).vcpus,
                least=pool.min,
                most=pool.max,
                spot=pool.spot,
                pooled=True,
                zones=pool.zones,
            )
