"""A site within its environment: all data about a site that a cloud's code gets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from clouds.base.pool_section import Pool
from clouds.base.site import SiteBase

SiteT = TypeVar("SiteT", bound=SiteBase)
SiteT_co = TypeVar("SiteT_co", bound=SiteBase, covariant=True)


@dataclass(frozen=True, kw_only=True)
class Place(Generic[SiteT_co]):
    """One site of an environment. Clouds do not know the environment's model; the model makes these objects
    (``place_of``)."""

    environment: str
    """Name of the environment."""
    prefix: str
    """Prefix of every name in a cloud, with its hyphen; may be empty."""
    domain: str
    """Private DNS zone of the environment."""
    name: str
    """Name of the site."""
    site: SiteT_co
    control: str
    """Name of the control plane's site; empty when the file names no site that can hold one."""
    is_control: bool
    """True when the control plane is in this site."""
    has_tunnels: bool
    """True when a link of the site is an IPsec tunnel."""
    pools: Mapping[str, Pool]
    """Pools of the site, by name."""
    has_backups: bool = False
    """True when the environment has backups: the control plane's machines then reach object storage."""
    backup_account: str = ""
    """Name of the storage account for backups; empty when the environment has none."""
    scales: bool = False
    """True when the environment has an autoscaler that acts."""
    vpn_machines: int = 0
    """Number of machines of the laptops' VPN in this site."""

    def pool_resource(self, pool: str) -> str:
        """Return the name of a pool's resource in the program."""
        return f"{self.environment}-{pool}"

    def cloud_name(self, name: str) -> str:
        """Return a resource's name in a cloud: ``name`` with the prefix of the environment's names."""
        return f"{self.prefix}{name}"
