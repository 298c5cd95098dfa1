"""Checks of every machine type that the environment uses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from clouds.base.faults import Fault, Location
from clouds.base.machine_types import MachineProperties
from clouds.base.phrases import suggestion
from clouds.registry import cloud_of, clouds
from components.model.environment import Environment
from components.model.nodes.gpu_models import NVIDIA_ONLY

MEMORY_EACH_GIB = 256
"""Memory of a virtual core that no machine type has, GiB. The most are 109 of Azure's ``Standard_M8-2ms``
(learn.microsoft.com, "Constrained vCPU capable VM sizes")."""
SSD_GB = range(40, 500_000)
"""Local storage that machine types have, GB: 50 of EC2's ``c5d.large`` to 335,520 of its ``d3en.12xlarge``
(docs.aws.amazon.com, "Amazon EC2 instance types", instance store)."""

IMAGES = "amd64"
"""Processors of the images that are baked, and of every tool in tools.toml."""


@dataclass(frozen=True, kw_only=True)
class _Wanted:
    """A machine type that the environment uses."""

    at: Location
    site: Location
    """Location of the site's name in the file."""
    site_name: str
    name: str
    needs_ssd: bool = False


def _wanted(environment: Environment) -> Iterator[_Wanted]:
    control = environment.control_plane
    at: Location
    site = ("control_plane", "site")
    for part, name, needs_ssd in (
        ("etcd", control.etcd.machine_type, True),
        ("events", control.events.machine_type, True),
        ("api", control.api.machine_type, False),
    ):
        at = ("control_plane", part, "machine_type")
        yield _Wanted(at=at, site=site, site_name=control.site, name=name, needs_ssd=needs_ssd)
    if environment.vpn is not None:
        yield _Wanted(at=("vpn", "machine_type"), site=site, site_name=control.site, name=environment.vpn.machine_type)
    if control.etcd.learner is not None:
        at = ("control_plane", "etcd", "learner", "machine_type")
        yield _Wanted(at=at, site=site, site_name=control.site, name=control.etcd.learner.machine_type)
    for pool_name, pool in environment.pools.items():
        at = ("pools", pool_name, "machine_type")
        yield _Wanted(at=at, site=("pools", pool_name, "site"), site_name=pool.site, name=pool.machine_type)


def check_machine_types(environment: Environment) -> Iterator[Fault]:
    """Yield a fault for each machine type that is unknown, another cloud's, or without the disk that it needs."""
    types = environment.known_types
    for wanted in _wanted(environment):
        site = environment.sites.get(wanted.site_name)
        # A control plane on AWS or in a rack has a fault of its own; errors of its machine types would only follow from
        # that.
        if site is None:
            continue
        cloud = cloud_of(site)
        if cloud.rents if wanted.at[0] == "pools" else cloud.holds_control_plane:
            if maker := _accelerator(wanted.name):
                yield Fault(
                    at=wanted.at,
                    wrong=f"{wanted.name!r} has {maker}, and {NVIDIA_ONLY}",
                    write="a type with GPUs of NVIDIA's, or without GPUs",
                    basis=(wanted.site, ("sites", wanted.site_name, "kind")),
                )
                continue
            if cloud.machine_types.architecture(wanted.name) == IMAGES:
                yield from _check_machine_type(types, wanted=wanted, cloud=site.kind)
            else:
                yield _other_processor(types, wanted=wanted, cloud=site.kind)


def check_units(environment: Environment) -> Iterator[Fault]:
    """Yield a fault for each declared machine type whose numbers are in another unit: the autoscaler would ask for
    machines for pods that fit on none."""
    for name, kind in environment.machine_types.items():
        at: Location = ("machine_types", name)
        if kind.memory_gib > MEMORY_EACH_GIB * kind.vcpus:
            wrong = f"{kind.memory_gib:,} GiB for {kind.vcpus:,} cores are more than any machine has"
            write = f"{max(kind.memory_gib // 1024, 1):,}, if that is MiB"
            yield Fault(at=(*at, "memory_gib"), wrong=wrong, write=write, basis=((*at, "vcpus"),))
        if kind.local_ssd_gb and kind.local_ssd_gb not in SSD_GB:
            few, size = kind.local_ssd_gb < SSD_GB.start, kind.local_ssd_gb
            wrong = f"{size:,} GB are {'less' if few else 'more'} than any machine with local disks has"
            write = f"{size * 1000}, if that is TB" if few else f"{size // 1000}, if that is MB"
            yield Fault(at=(*at, "local_ssd_gb"), wrong=wrong, write=write)


def _other_processor(types: dict[str, MachineProperties], *, wanted: _Wanted, cloud: str) -> Fault:
    return Fault(
        at=wanted.at,
        wrong=f"{wanted.name!r} has arm64 processors, and images are baked for {IMAGES} alone",
        write=suggestion((name for name, kind in types.items() if kind.cloud == cloud), wanted.name),
        basis=(wanted.site, ("sites", wanted.site_name, "kind")),
    )


def _accelerator(machine_type: str) -> str:
    """Return the accelerators of a machine type of any cloud whose maker is not NVIDIA; empty when it has none."""
    return next(filter(None, (cloud.machine_types.accelerator(machine_type) for cloud in clouds().values())), "")


def _check_machine_type(types: dict[str, MachineProperties], *, wanted: _Wanted, cloud: str) -> Iterator[Fault]:
    machine_type = types.get(wanted.name)
    if machine_type is None:
        wrong = "is not a machine type that Longhaul knows"
    elif machine_type.cloud != cloud:
        wrong = f"is a type of {machine_type.cloud}, and {wanted.site_name} is on {cloud}"
    elif wanted.needs_ssd and not machine_type.local_ssd_gb:
        wrong = "has no local SSD, which etcd needs"
    else:
        return
    basis: tuple[Location, ...] = (
        wanted.site,
        ("sites", wanted.site_name, "kind"),
        ("machine_types", wanted.name),
        *(("machine_types", wanted.name, key) for key in ("cloud", "local_ssd_gb")),
    )
    fitting = [name for name, t in types.items() if t.cloud == cloud and (t.local_ssd_gb > 0 or not wanted.needs_ssd)]
    write = suggestion(fitting, wanted.name)
    if machine_type is None:
        write = f"{write}; or declare it under `machine_types`"
    yield Fault(at=wanted.at, wrong=f"{wanted.name!r} {wrong}", write=write, basis=basis)
