"""GPUs that an environment's files promise for its machines, and checks of the promises."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from clouds.base.faults import Fault, Location
from contract.documents.node import GpuPromise

if TYPE_CHECKING:
    from components.model.environment import Environment
    from components.model.hosts.section import Host
    from components.model.pools.machine_types import MachineType


def has_gpus(environment: Environment) -> bool:
    """Return whether any machine of the environment has GPUs."""
    in_clouds = (environment.machine_type(pool.machine_type).gpus for pool in environment.pools.values())
    return any(in_clouds) or any(host.gpus for host in environment.hosts)


def pool_promise(environment: Environment, pool_name: str) -> GpuPromise:
    """Return the GPUs that a pool's machines have, according to their machine type."""
    pool = environment.pools[pool_name]
    machine = environment.machine_type(pool.machine_type)
    return GpuPromise(
        gpus=machine.gpus, model=machine.gpu_model, nvlinks=machine.gpu_nvlinks, check=tuple(pool.gpu_check)
    )


def host_promise(host: Host) -> GpuPromise:
    """Return the GPUs that a host has, according to the hosts file."""
    return GpuPromise(gpus=host.gpus, model=host.gpu_model, nvlinks=host.gpu_nvlinks, check=tuple(host.gpu_check))


def check_gpus(environment: Environment) -> Iterator[Fault]:
    """Yield a fault for each GPU setting of machines that have no GPUs, and for each check whose arguments are in the
    program's own word."""
    for name, machine in environment.machine_types.items():
        yield from _of_nothing(("machine_types", name), machine)
    for index, host in enumerate(environment.hosts):
        yield from _words(("hosts", index), host.gpu_check)
        yield from _of_nothing(("hosts", index), host)
    types = environment.known_types
    for name, pool in environment.pools.items():
        at = ("pools", name)
        kind = types.get(pool.machine_type)
        yield from _words(at, pool.gpu_check)
        if pool.gpu_check and kind is not None and not kind.gpus:
            basis = ((*at, "machine_type"), ("machine_types", pool.machine_type))
            wrong = f"a {pool.machine_type} has no GPUs to check"
            yield Fault(at=(*at, "gpu_check"), wrong=wrong, write="leave it out", basis=basis)


def _words(at: Location, check: Sequence[str]) -> Iterator[Fault]:
    words = check[0].split() if check else []
    if len(words) > 1:
        wrong = f"{check[0]!r} is one word to the machine, which has no program of that name"
        yield Fault(at=(*at, "gpu_check", 0), wrong=wrong, write=json.dumps([*words, *check[1:]]))


def _of_nothing(at: Location, machine: MachineType | Host) -> Iterator[Fault]:
    if machine.gpus:
        return
    for key in ("gpu_model", "gpu_nvlinks", "gpu_check", "gpu_driver", "gpu_switches"):
        if getattr(machine, key, None) not in (None, "", (), "installed", "auto"):
            wrong = "is about GPUs, and there are none"
            yield Fault(at=(*at, key), wrong=wrong, write="leave it out, or say `gpus`", basis=((*at, "gpus"),))
