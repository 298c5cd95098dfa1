"""What is looked at: an environment, the files that it is written in, and where its state is to be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from clouds.base.doctor import Share
from clouds.base.outside import Outside
from components.model import Environment, plan
from components.model.places import place_of, site_ranges
from longhaul.doctor.demand import machines
from longhaul.engine.backend import Backend


@dataclass(frozen=True, kw_only=True)
class Subject:
    """Everything that checks know before they ask."""

    environment: Environment
    file: str
    """The stack file as the user would write its path."""
    hosts_file: str
    """The same of the hosts file, empty when there is none."""
    stack: Mapping[str, object]
    """What the stack file holds."""
    backend: Backend
    environ: Mapping[str, str]
    lab: bool = False

    @property
    def name(self) -> str:
        """The environment's."""
        return self.environment.name

    def at(self, *key: object) -> str:
        """A key of the environment, with its file."""
        return f"{'.'.join(map(str, key))} in {self.file}"

    def share(self, kind: str, here: Outside) -> Share[Any]:
        """What of the environment is in one cloud, as its doctor is told of it."""
        environment, addresses = self.environment, plan(self.environment)
        names = tuple(name for name, site in environment.sites.items() if site.kind == kind)
        return Share(
            environment=environment.name,
            file=self.file,
            lab=self.lab,
            here=here,
            supernet=environment.supernet,
            places={name: place_of(environment, name) for name in names},
            ranges={name: site_ranges(addresses, name) for name in names},
            machines=tuple(one for one in machines(environment) if one.site in names),
        )
