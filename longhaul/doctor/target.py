"""Input of the checks: an environment, its files, and the place of its state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from clouds.base.doctor import CloudShare
from clouds.base.findings import Finding
from clouds.base.local_machine import LocalMachine
from components.model import Environment, plan
from components.model.network.links import remote_addresses
from components.model.sites.places import place_of, site_ranges
from longhaul.doctor.demand import machines
from longhaul.engine.backend import Backend


@dataclass(frozen=True, kw_only=True)
class DoctorTarget:
    """Everything that a check gets."""

    environment: Environment
    file: str
    """Path of the stack file, as the user would write it."""
    hosts_file: str
    """Path of the hosts file in the same form; empty when there is none."""
    stack: Mapping[str, object]
    """Content of the stack file."""
    backend: Backend
    environ: Mapping[str, str]
    lab: bool = False
    plugins: tuple[Finding, ...] = ()
    """Findings about the engine's plugins, from before the checks."""

    @property
    def name(self) -> str:
        """Return the environment's name."""
        return self.environment.name

    def at(self, *key: object) -> str:
        """Return a key of the environment with its file, for messages."""
        return f"{'.'.join(map(str, key))} in {self.file}"

    def share(self, kind: str, here: LocalMachine) -> CloudShare[Any]:
        """Return the part of the environment that is in one cloud, for that cloud's doctor."""
        environment, addresses = self.environment, plan(self.environment)
        names = tuple(name for name, site in environment.sites.items() if site.kind == kind)
        return CloudShare(
            environment=environment.name,
            file=self.file,
            lab=self.lab,
            here=here,
            supernet=environment.supernet,
            places={name: place_of(environment, name) for name in names},
            ranges={name: site_ranges(addresses, name) for name in names},
            remote_addresses={name: remote_addresses(environment, name) for name in names},
            machines=tuple(machine for machine in machines(environment) if machine.site in names),
            permissions_boundary=environment.access.aws_permissions_boundary or "",
        )
