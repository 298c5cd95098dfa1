"""Parts that the lab's commands share: the chosen environment and project, and the configuration of its lab."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path

from clouds.aws.site import AwsSite
from clouds.registry import cloud_of
from components.model import Environment, load, plan
from components.model.control_plane.machines import Role, role_sizes
from components.model.loading.load import check_neighbours
from components.model.network.address_plan import FRONTEND
from components.model.nodes.gpu_promises import has_gpus
from lab.config import LabConfig
from lab.hypervisor.addresses import OPERATOR_PUBLIC, OPERATORS_PUBLIC
from lab.inotify import API_SERVER, MACHINE, NODE, VPN
from lab.state import DEFAULT_ENV, LabError, LabState, loopback_port, read_json, running_init
from lab.tenants import check_apart, check_fits, configs, lab_to_join, tenants_of

PROJECT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, kw_only=True)
class LabProject:
    """One environment of one project folder."""

    path: Path
    env: str

    @property
    def state(self) -> LabState:
        """State of this environment's lab."""
        return LabState.of(self.env, root=self.path / ".lab")

    @property
    def stack(self) -> Path:
        """Stack file of the environment."""
        return self.path / "stacks" / f"Pulumi.{self.env}.yaml"

    def load(self) -> Environment:
        """Load and check the environment. Raise ``ConfigurationError``, which lists all faults."""
        environment = load(self.stack)
        check_neighbours(environment, source=self.stack)
        return environment


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose an environment."""
    parser.add_argument("--env", default=DEFAULT_ENV, help="the environment (default: %(default)s)")
    parser.add_argument(
        "--project", type=Path, default=PROJECT, help="folder with Pulumi.yaml (default: this checkout)"
    )


def chosen(options: argparse.Namespace) -> LabProject:
    """Return the environment that the options choose."""
    return LabProject(path=options.project.resolve(), env=options.env)


@dataclass(frozen=True, kw_only=True)
class RootParts:
    """Parts of machines: root file systems, and the depot from which machines load everything else."""

    node: Path
    """Root file system of every image that a cloud site names."""
    bare: Path | None = None
    """Root file system of the hosts; ``node`` when left out."""
    gateway: Path | None = None
    """Root file system of the clouds' VPN gateways; without it there are no tunnels."""
    depot: Path | None = None
    """Folder that the depot serves."""
    gpu_library: Path | None = None
    """Stand-in for the library of GPUs' driver; without it no machine has GPUs."""
    company: Path | None = None
    """Folder with the packages of the company's identity provider; without it there is no company."""
    tools: Path
    """Folder of the pinned tools, for the operator's PATH."""


def config(environment: Environment, chosen: LabProject, parts: RootParts) -> LabConfig:
    """Return the configuration for the lab of ``environment``. A running lab keeps its port."""
    addresses = plan(environment)
    control = environment.control_plane
    frontend = addresses.sites[control.site].subnet("api")[FRONTEND]
    clouds = [site for site in environment.sites.values() if cloud_of(site).rents]
    state = chosen.state
    known = LabConfig.read(state) if state.config_file.exists() else None
    beside = lab_to_join(state)
    if beside and len(clouds) < len(environment.sites):
        onprem = ", ".join(name for name, site in environment.sites.items() if site not in clouds)
        raise LabError(
            f"{chosen.env} cannot be beside {beside} in its lab, which has racks for {beside} alone, and not for "
            f"{onprem}: `make lab-down ENV={beside}` first"
        )
    return LabConfig(
        rootfs=known.rootfs if known and _is_other(known.rootfs, parts.node) else str(parts.node),
        bare_rootfs=_text(parts.bare),
        gateway_rootfs=_text(parts.gateway),
        depot=_text(parts.depot),
        stack=str(chosen.stack),
        operators=str(addresses.operators),
        supernet=str(addresses.supernet),
        operator_public=str(_public(environment)),
        beside=beside,
        api_address=f"{frontend}:{control.api.port}",
        port=LabConfig.read(state).port if running_init(state) else loopback_port(environment.name),
        images=_images((site.image for site in clouds), parts.node, known=known.images if known else {}),
        regions=tuple(sorted({site.region for site in clouds if isinstance(site, AwsSite)})),
        tools=str(parts.tools),
        company=_text(parts.company),
        gpu_library=_text(parts.gpu_library),
    )


def _images(ids: Iterable[str], node: Path, *, known: Mapping[str, str]) -> dict[str, str]:
    """Return the root file systems by image id. As in a cloud, an image id that the lab already uses keeps its content;
    another version needs another id."""
    fresh = {name: str(node) for name in ids if not _is_other(known.get(name, str(node)), node)}
    return {**known, **fresh}


def _is_other(root: str, node: Path) -> bool:
    """Return whether a root file system holds other versions than ``node``."""
    return _versions(Path(root)) != _versions(node)


def _versions(root: Path) -> object:
    return (read_json(root.with_name("manifest.json")) or {}).get("versions")


def _public(environment: Environment) -> IPv4Address:
    """Return the operator's address on the lab's internet: the first one that the environment's vault admits."""
    places = (place for place in OPERATORS_PUBLIC for range_ in environment.access.operators if place in range_)
    return next(places, OPERATOR_PUBLIC)


def watchers(environment: Environment) -> int:
    """Return the number of inotify instances that the machines of ``environment`` need, with its pools at their
    minimum."""
    gateways = sum(len(site.gateways) for site in environment.sites.values())
    nodes = len(environment.hosts) + sum(pool.min for pool in environment.pools.values())
    sizes = role_sizes(environment)
    machines = sum(count for count, _ in sizes.values()) + gateways + nodes
    doors = VPN * sizes[Role.VPN][0] if Role.VPN in sizes else 0
    return MACHINE * machines + API_SERVER * sizes[Role.API][0] + NODE * nodes + doors


def check_second(environment: Environment, chosen: LabProject) -> None:
    """Raise :class:`LabError`, before anything is built, when the environment would join a running lab that cannot hold
    it."""
    beside = lab_to_join(chosen.state)
    if not beside or running_init(chosen.state):
        return
    host = LabState(root=chosen.state.root, env=beside)
    host_config = LabConfig.read(host)
    same = RootParts(
        node=Path(host_config.rootfs),
        bare=Path(host_config.bare_rootfs) if host_config.bare_rootfs else None,
        gateway=Path(host_config.gateway_rootfs) if host_config.gateway_rootfs else None,
        depot=Path(host_config.depot) if host_config.depot else None,
        tools=Path(host_config.tools),
    )
    wanted = config(environment, chosen, same)
    check_fits(wanted, host_config, env=chosen.env)
    others = tuple(tenant for tenant in tenants_of(host) if tenant != chosen.state)
    check_apart(wanted, {beside: host_config, **configs(others)}, env=chosen.env)
    if host_config.stack and has_gpus(environment) != has_gpus(load(Path(host_config.stack))):
        which = "has GPUs" if has_gpus(environment) else "has none"
        raise LabError(
            f"{chosen.env} cannot be beside {beside} in its lab: it {which}, unlike {beside}, and so needs another "
            f"depot. For its own: `make lab-down ENV={beside}` first, then `make lab ENV={chosen.env}` alone"
        )


def _text(path: Path | None) -> str:
    return "" if path is None else str(path)
