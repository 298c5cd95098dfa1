"""Links between sites: which exist, of what kind, and what fits through them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations
from math import prod

from clouds.registry import cloud_of
from components.model.environment import Environment
from components.model.sites import Site


class LinkKind(StrEnum):
    """How two sites are connected."""

    BACKBONE = "backbone"
    """Peering inside one cloud: gateways of one cloud do not tunnel to each other, and peering is not transitive."""
    IPSEC = "ipsec"
    """A site-to-site tunnel."""
    EXISTING = "existing"
    """A circuit that is already there."""


@dataclass(frozen=True, kw_only=True)
class PlannedLink:
    """One link; the sites in the file's order."""

    first: str
    second: str
    kind: LinkKind

    @property
    def name(self) -> str:
        """Name of the link, used in resource names."""
        return f"{self.first}-{self.second}"


def links(environment: Environment) -> tuple[PlannedLink, ...]:
    """A link for every pair of sites."""
    existing = {frozenset(link.between) for link in environment.links}
    return tuple(
        PlannedLink(first=first, second=second, kind=_kind(a, b, existing=frozenset((first, second)) in existing))
        for (first, a), (second, b) in combinations(environment.sites.items(), 2)
    )


def has_tunnels(environment: Environment, site: str) -> bool:
    """Whether a site has a VPN gateway."""
    return any(link.kind is LinkKind.IPSEC and site in (link.first, link.second) for link in links(environment))


def _kind(first: Site, second: Site, *, existing: bool) -> LinkKind:
    if existing:
        return LinkKind.EXISTING
    same_cloud = first.kind == second.kind and cloud_of(first).rents
    return LinkKind.BACKBONE if same_cloud else LinkKind.IPSEC


def tunnels(environment: Environment, link: PlannedLink) -> int:
    """How many tunnels an IPsec link has, as ``components/links.py`` makes them: each end of one site to each of the
    other.

    Raises:
        ValueError: the link is no tunnel.
    """
    if link.kind is not LinkKind.IPSEC:
        raise ValueError(f"link {link.name} is no tunnel: it is {link.kind}")
    ends = (environment.sites[name] for name in (link.first, link.second))
    return prod(len(cloud_of(site).tunnels.ends(site)) for site in ends)
