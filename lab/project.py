"""What the lab's commands share: which environment of which project, and what its lab is started with."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

from components.model import Environment, load, plan
from components.model.load import check_neighbours
from components.model.network import FRONTEND
from components.model.sites import AzureSite
from lab.config import LabConfig
from lab.state import LabError, LabState, loopback_port, running_init

PROJECT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, kw_only=True)
class LabProject:
    """One environment of one project folder."""

    path: Path
    env: str

    @property
    def state(self) -> LabState:
        """Where the lab of this environment keeps its things."""
        return LabState.of(self.env, root=self.path / ".lab")

    def load(self) -> Environment:
        """The environment, checked; ``ConfigurationError`` with everything that is wrong."""
        source = self.path / "stacks" / f"Pulumi.{self.env}.yaml"
        environment = load(source)
        check_neighbours(environment, source=source)
        return environment


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options that say which environment."""
    parser.add_argument("--env", default="lab", help="the environment (default: lab)")
    parser.add_argument(
        "--project", type=Path, default=PROJECT, help="folder with Pulumi.yaml (default: this checkout)"
    )


def chosen(options: argparse.Namespace) -> LabProject:
    """The environment that the options say."""
    return LabProject(path=options.project.resolve(), env=options.env)


def config(environment: Environment, state: LabState, *, rootfs: Path, tools: Path) -> LabConfig:
    """What the lab of ``environment`` is started with: every image that a site names is the baked one. A lab that runs
    keeps its port."""
    addresses = plan(environment)
    control = environment.control_plane
    frontend = addresses.sites[control.site].subnet("api")[FRONTEND]
    images = {site.image: str(rootfs) for site in environment.sites.values() if isinstance(site, AzureSite)}
    return LabConfig(
        rootfs=str(rootfs),
        operators=str(addresses.operators),
        supernet=str(addresses.supernet),
        api_address=f"{frontend}:{control.api.port}",
        port=LabConfig.read(state).port if running_init(state) else loopback_port(environment.name),
        images=images,
        tools=str(tools),
    )


def require_buildable(environment: Environment) -> None:
    """``LabError`` for an environment with parts that the lab cannot build."""
    absent = [f"{name} ({site.kind})" for name, site in environment.sites.items() if not isinstance(site, AzureSite)]
    if absent:
        raise LabError(
            f"the lab cannot build {environment.name} yet: it has Azure only, and there is also {', '.join(absent)}. "
            f"`longhaul preview --env {environment.name}` works without a lab"
        )
