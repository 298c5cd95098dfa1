"""A site in its environment: all that a cloud is told when it is asked about one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from clouds.base.pool import Pool
from clouds.base.site import SiteBase

SiteT_co = TypeVar("SiteT_co", bound=SiteBase, covariant=True)


@dataclass(frozen=True, kw_only=True)
class Place(Generic[SiteT_co]):
    """One site of an environment. Clouds know no environment: the model makes these (``place_of``)."""

    environment: str
    """The environment's name."""
    prefix: str
    """Stands before every name that clouds know, with its hyphen; may be empty."""
    domain: str
    """The environment's private DNS zone."""
    name: str
    """The site's name."""
    site: SiteT_co
    control: str
    """The control plane's site; empty where the file names none that could be."""
    is_control: bool
    """Whether the control plane stands here."""
    has_tunnels: bool
    """Whether a link of the site is an IPsec tunnel."""
    pools: Mapping[str, Pool]
    """Those of the site, by name."""

    def pool_resource(self, pool: str) -> str:
        """What the program calls a pool."""
        return f"{self.environment}-{pool}"

    def cloud_name(self, name: str) -> str:
        """What a cloud calls a resource that Longhaul calls ``name``."""
        return f"{self.prefix}{name}"
