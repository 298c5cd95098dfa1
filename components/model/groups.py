"""Names that clouds know an environment's groups by; the program makes them, others look for them."""

from __future__ import annotations

from clouds.azure.site import AzureSite
from components.model.environment import Environment

GATEWAY_SUBNET = "GatewaySubnet"
"""The one name by which Azure knows a gateway's subnet."""


def name_prefix(environment: Environment) -> str:
    """What stands before every name that clouds know, with its hyphen; may be empty."""
    return f"{environment.naming.prefix}-" if environment.naming.prefix else ""


def cloud_name(environment: Environment, name: str) -> str:
    """What a cloud calls a resource that Longhaul calls ``name``."""
    return f"{name_prefix(environment)}{name}"


def resource_group(environment: Environment, site: str) -> str:
    """The resource group that holds everything of one Azure site; the one that is there already, where one is."""
    declared = environment.sites[site]
    named = declared.existing.resource_group if isinstance(declared, AzureSite) else None
    return named or cloud_name(environment, f"{environment.name}-{site}")


def azure_subnet(environment: Environment, site: str, part: str) -> str:
    """The subnet of a part of an Azure site, where it is made: in a company's network, ``api`` may be the name of
    anything."""
    declared = environment.sites[site]
    if part == "gateway":
        return GATEWAY_SUBNET
    in_one_of_theirs = isinstance(declared, AzureSite) and declared.existing.network is not None
    return cloud_name(environment, f"{environment.name}-{site}-{part}" if in_one_of_theirs else part)


def pool_group(environment: Environment, pool: str) -> str:
    """A pool's auto scaling group or scale set."""
    return cloud_name(environment, pool_resource(environment, pool))


def pool_resource(environment: Environment, pool: str) -> str:
    """What the program calls a pool."""
    return f"{environment.name}-{pool}"


def node_role(environment: Environment, site: str) -> str:
    """The role, and instance profile, of an AWS site's nodes: who has it is one of them."""
    return cloud_name(environment, f"{environment.name}-{site}-node")
