"""Tags of what is made in clouds."""

from __future__ import annotations

from clouds.base.tagging import ENVIRONMENT, SITE
from components.model import Environment


def environment_tags(environment: Environment) -> dict[str, str]:
    """Tags of what is no site's."""
    return {**environment.tags, ENVIRONMENT: environment.name}


def site_tags(environment: Environment, site: str) -> dict[str, str]:
    """Tags of every resource of a site."""
    return {**environment_tags(environment), SITE: site}
