"""Names that clouds know an environment's groups by; the program makes them, others look for them."""

from __future__ import annotations

from components.model.environment import Environment


def resource_group(environment: Environment, site: str) -> str:
    """The resource group that holds everything of one Azure site."""
    return f"{environment.name}-{site}"


def pool_group(environment: Environment, pool: str) -> str:
    """A pool's auto scaling group or scale set."""
    return f"{environment.name}-{pool}"


def node_role(environment: Environment, site: str) -> str:
    """The role, and instance profile, of an AWS site's nodes: who has it is one of them."""
    return f"{environment.name}-{site}-node"
