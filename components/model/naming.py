"""How long the clouds let names be, and which of an environment's come near it."""

from __future__ import annotations

from collections.abc import Iterator

from clouds.aws.site import AwsSite
from clouds.azure.site import AzureSite
from clouds.base.fault import Fault
from clouds.onprem.site import OnpremSite
from components.model.environment import Environment
from components.model.groups import cloud_name, node_role, resource_group
from components.model.links import LinkKind, links
from components.model.scale_sets import pool_groups

NETWORK_PART = 80
"""Characters of a connection, a local network gateway and most other parts of Azure's networks (learn.microsoft.com,
"Naming rules and restrictions for Azure resources")."""

NETWORK = 64
"""Of a virtual network (same page)."""

GROUP = 90
"""Of a resource group (same page)."""

MACHINE = 64
"""Of a Linux machine and of a scale set (same page)."""

ROLE = 64
"""Of a role in AWS (docs.aws.amazon.com, "IAM and AWS STS quotas")."""

NODE = 52
"""Of a node: its certificate's common name is `system:node:` and that, and has 64 (RFC 5280, A.1,
``ub-common-name``)."""

INSTANCE = 6
"""Characters that a scale set puts after its machines' prefix (learn.microsoft.com, "Learn about instance IDs and VM
names for Virtual Machine Scale Sets")."""


def check_lengths(environment: Environment) -> Iterator[Fault]:
    """Names that are too long for their cloud: of all kinds the longest alone."""
    longest: dict[str, tuple[str, int]] = {}
    for what, name, most in _names(environment):
        if len(name) > most and len(name) > len(longest.get(what, ("", 0))[0]):
            longest[what] = name, most
    prefix = environment.naming.prefix
    at = ("naming", "prefix") if prefix else ("name",)
    for what, (name, most) in longest.items():
        over = len(name) - most
        wrong = f"{name!r}, as {what} would be called, has {len(name)} characters, and {most} is the most"
        write = f"names that are {over} shorter in all: prefix, environment, sites, pools and gateways"
        yield Fault(at=at, wrong=wrong, write=write, basis=(("name",), ("sites",), ("pools",)))


def _names(environment: Environment) -> Iterator[tuple[str, str, int]]:
    """What it is, its name, and how long that may be."""
    own = environment.name
    for name, site in environment.sites.items():
        if isinstance(site, AzureSite):
            yield "a resource group", resource_group(environment, name), GROUP
            yield "a virtual network", cloud_name(environment, f"{own}-{name}"), NETWORK
        elif isinstance(site, AwsSite):
            yield "a role", node_role(environment, name), ROLE
            yield "a role", cloud_name(environment, f"{own}-node-controller"), ROLE
    for pool, declared in environment.pools.items():
        if isinstance(environment.sites.get(declared.site), AzureSite):
            for group in pool_groups(environment, pool):
                yield "a scale set", group.name, MACHINE
                yield "a node", f"{group.name}-{'0' * INSTANCE}", NODE
    for link in links(environment):
        if link.kind is LinkKind.IPSEC:
            for end in _ends(environment, link.first, link.second):
                yield "a connection", cloud_name(environment, f"{own}-links-{link.name}-{end}"), NETWORK_PART


def _ends(environment: Environment, first: str, second: str) -> Iterator[str]:
    """How the names of a link's connections in Azure end (``components/links.py``)."""
    sites = [environment.sites[name] for name in (first, second)]
    if not any(isinstance(site, AzureSite) for site in sites):
        return
    for site in sites:
        if isinstance(site, OnpremSite):
            yield from (gateway.name for gateway in site.gateways)
        elif isinstance(site, AwsSite):
            yield "0-0"
