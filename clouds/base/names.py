"""Names of resources in a cloud."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic

from clouds.base.place import Place, SiteT

NODE = 52
"""Largest number of characters of a node's name. The common name of its certificate is `system:node:` and that name,
and may have 64 characters (RFC 5280, A.1, ``ub-common-name``)."""


@dataclass(frozen=True, kw_only=True)
class LimitedName:
    """Name of a resource in a cloud, with its maximum length."""

    what: str
    """Kind of resource, with its article, such as ``a scale set``."""
    name: str
    most: int
    """Largest number of characters."""


@dataclass(frozen=True, kw_only=True)
class MainName:
    """Name of one of a site's main resources in its cloud."""

    what: str
    """Kind of resource in words, such as ``resource group``."""
    name: str
    """Its name. For a VPC of AWS, this is the tag ``Name``, or the id when the VPC exists already."""
    existing: bool = False
    """True when the resource exists already."""


class ResourceNames(Generic[SiteT]):
    """Names of a cloud's resources: a site's main names, and names that could become too long, with their maximum
    length. Of several names of one kind, the longest is enough. There are none by default."""

    def main(self, place: Place[SiteT]) -> Iterator[MainName]:
        """Yield the names of a site's main resources, of any length, without its pools. The user sees these names
        before anything is made."""
        yield from ()

    def of_site(self, place: Place[SiteT]) -> Iterator[LimitedName]:
        """Yield names of the site's own resources."""
        yield from ()

    def of_pool(self, place: Place[SiteT], pool: str) -> Iterator[LimitedName]:
        """Yield names of resources and nodes of one of the site's pools."""
        yield from ()

    def of_link(self, place: Place[SiteT], link: str, end: str) -> Iterator[LimitedName]:
        """Yield names of the resources of one tunnel. ``link`` is the link's name and ``end`` is an end of the other
        site (:meth:`SiteTunnels.ends`)."""
        yield from ()
