"""Tags of cloud resources."""

from __future__ import annotations

from components.model import Environment
from contract.tags import ENVIRONMENT, SITE


def environment_tags(environment: Environment) -> dict[str, str]:
    """Return the tags of resources that belong to no site."""
    return {**environment.tags, ENVIRONMENT: environment.name}


def site_tags(environment: Environment, site: str) -> dict[str, str]:
    """Return the tags of every resource of a site."""
    return {**environment_tags(environment), SITE: site}
