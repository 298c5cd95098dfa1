"""Tags of cloud resources: those of the environment's file, and Longhaul's own. A tag of every resource is added only
here; declarations, checks and counts follow. A tag of one kind of resource (a pool, a machine's role, a name) is added
where that kind is declared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from contract.tag_keys import ENVIRONMENT, SITE


class TaggedEnvironment(Protocol):
    """Data of an environment that tags are made of."""

    @property
    def name(self) -> str:
        """Name of the environment."""

    @property
    def tags(self) -> Mapping[str, str]:
        """Tags of the environment's file."""


def environment_tags(environment: TaggedEnvironment) -> dict[str, str]:
    """Return the tags of resources that belong to no site."""
    return {**environment.tags, ENVIRONMENT: environment.name}


def site_tags(environment: TaggedEnvironment, site: str) -> dict[str, str]:
    """Return the tags of every resource of a site."""
    return {**environment_tags(environment), SITE: site}
