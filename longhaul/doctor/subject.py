"""What is looked at: an environment, the files that it is written in, and where its state is to be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from clouds.aws.site import AwsSite
from clouds.azure.site import AzureSite
from components.model import AddressPlan, Environment, plan
from longhaul.engine.backend import Backend
from longhaul.lab_seam import IMAGINARY


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

    @property
    def addresses(self) -> AddressPlan:
        """The address plan."""
        return plan(self.environment)

    def at(self, *key: object) -> str:
        """A key of the environment, with its file."""
        return f"{'.'.join(map(str, key))} in {self.file}"

    def sites(self, *names: str) -> tuple[str, ...]:
        """These sites, with their file."""
        return tuple(self.at("sites", name) for name in names)

    def azure(self) -> dict[str, AzureSite]:
        """Azure's sites whose subscription may exist: one of an example is nobody's to ask."""
        sites = self.environment.sites.items()
        return {name: site for name, site in sites if isinstance(site, AzureSite) and not self.imaginary(site)}

    def aws(self) -> dict[str, AwsSite]:
        """AWS's sites."""
        return {name: site for name, site in self.environment.sites.items() if isinstance(site, AwsSite)}

    def imaginary(self, site: AzureSite) -> bool:
        """Whether a site is in an example's subscription, and no lab stands for it."""
        return not self.lab and site.subscription.startswith(IMAGINARY)

    def subscriptions(self) -> dict[str, list[str]]:
        """Names of the sites in each subscription."""
        found: dict[str, list[str]] = {}
        for name, site in self.azure().items():
            found.setdefault(site.subscription, []).append(name)
        return found

    def azure_regions(self) -> dict[tuple[str, str], list[str]]:
        """Names of the sites by subscription and region."""
        found: dict[tuple[str, str], list[str]] = {}
        for name, site in self.azure().items():
            found.setdefault((site.subscription, site.region), []).append(name)
        return found

    def aws_regions(self) -> dict[str, list[str]]:
        """Names of the sites in each of AWS's regions."""
        found: dict[str, list[str]] = {}
        for name, site in self.aws().items():
            found.setdefault(site.region, []).append(name)
        return found
