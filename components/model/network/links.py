"""Links between sites: which exist, of what kind, and the number of their tunnels."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations
from math import prod

from clouds.registry import cloud_of
from components.model.environment import Environment
from components.model.sites.section import Site


class LinkKind(StrEnum):
    """Kind of the connection between two sites."""

    BACKBONE = "backbone"
    """Peering inside one cloud: gateways of one cloud do not tunnel to each other, and peering is not transitive."""
    IPSEC = "ipsec"
    """A site-to-site tunnel."""
    EXISTING = "existing"
    """An existing circuit."""


@dataclass(frozen=True, kw_only=True)
class PlannedLink:
    """A link between two sites, in the file's order."""

    first: str
    second: str
    kind: LinkKind

    @property
    def name(self) -> str:
        """Return the name of the link, which is part of resource names."""
        return f"{self.first}-{self.second}"


def links(environment: Environment) -> tuple[PlannedLink, ...]:
    """Return a link for every pair of sites."""
    existing = {frozenset(link.between) for link in environment.links if link.kind == "existing"}
    return tuple(
        PlannedLink(first=first, second=second, kind=_kind(a, b, existing=frozenset((first, second)) in existing))
        for (first, a), (second, b) in combinations(environment.sites.items(), 2)
    )


def has_tunnels(environment: Environment, site: str) -> bool:
    """Return whether a site has an IPsec link, and therefore needs a VPN gateway."""
    return any(link.kind is LinkKind.IPSEC and site in (link.first, link.second) for link in links(environment))


def remote_addresses(environment: Environment, site: str) -> int:
    """Return the number of public addresses of other sites to which a site has tunnels; a site with a single connection
    counts as one. In a cloud whose connections lead to one address each, it is the number of connections."""
    tunnelled = (
        link for link in links(environment) if link.kind is LinkKind.IPSEC and site in (link.first, link.second)
    )
    others = (environment.sites[link.second if link.first == site else link.first] for link in tunnelled)
    near = environment.sites[site]
    return sum(1 if _is_single(other, near) else cloud_of(other).tunnels.addresses(other) for other in others)


def _kind(first: Site, second: Site, *, existing: bool) -> LinkKind:
    if existing:
        return LinkKind.EXISTING
    same_cloud = first.kind == second.kind and cloud_of(first).rents
    return LinkKind.BACKBONE if same_cloud else LinkKind.IPSEC


def tunnels(environment: Environment, link: PlannedLink) -> int:
    """Return the number of tunnels of an IPsec link, as ``components/environment/links.py`` makes them: one from each
    end of the first site to each end of the second. When a site has a single connection to the other site, only one end
    of that other site counts.

    Raise ``ValueError`` when the link has no tunnels.
    """
    if link.kind is not LinkKind.IPSEC:
        raise ValueError(f"link {link.name} is no tunnel: it is {link.kind}")
    counted = single_ends(environment, link) or (link.first, link.second)
    sites = (environment.sites[name] for name in counted)
    return prod(len(cloud_of(site).tunnels.ends(site)) for site in sites)


def single_ends(environment: Environment, link: PlannedLink) -> tuple[str, ...]:
    """Return the sites of a link that have a single connection to the other site.

    A named gateway with several active instances is not among them when the other end is in a cloud whose connections
    lead to one address each: an instance without a tunnel would drop its share of the traffic.
    """
    first, second = environment.sites[link.first], environment.sites[link.second]
    ends = ((link.first, first, second), (link.second, second, first))
    return tuple(name for name, site, other in ends if _is_single(site, other))


def _is_single(site: Site, other: Site) -> bool:
    cloud = cloud_of(site).tunnels
    return cloud.is_single(site) and not (cloud.addresses(site) > 1 and cloud_of(other).rents)
