"""Links between sites: which exist, of what kind, and what fits through them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations

from clouds.aws.site import AwsSite
from clouds.azure.site import GATEWAY_ADDRESSES, AzureSite
from clouds.onprem.site import OnpremSite
from components.model.environment import Environment
from components.model.sites import Site

AWS_TUNNELS = 2
"""Tunnels of one connection of AWS, each with an address of its own."""


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
    same_cloud = first.kind == second.kind and first.kind != "onprem"
    return LinkKind.BACKBONE if same_cloud else LinkKind.IPSEC


def tunnels(environment: Environment, link: PlannedLink) -> int:
    """How many tunnels an IPsec link has, as ``components/links.py`` makes them: each gateway of one end to each
    address of the other, where AWS has two addresses for each it is called from.

    Raises:
        ValueError: the link is no tunnel.
    """
    ends = environment.sites[link.first], environment.sites[link.second]
    if link.kind is LinkKind.IPSEC:
        match ends:
            case (AzureSite(), AwsSite()) | (AwsSite(), AzureSite()):
                return GATEWAY_ADDRESSES * AWS_TUNNELS
            case (OnpremSite(gateways=near), OnpremSite(gateways=far)):
                return len(near) * len(far)
            case (OnpremSite(gateways=near), AwsSite()) | (AwsSite(), OnpremSite(gateways=near)):
                return len(near) * AWS_TUNNELS
            case (OnpremSite(gateways=near), AzureSite()) | (AzureSite(), OnpremSite(gateways=near)):
                return len(near) * GATEWAY_ADDRESSES
    raise ValueError(f"link {link.name} is no tunnel: it is {link.kind}")
