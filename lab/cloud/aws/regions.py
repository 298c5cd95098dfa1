"""Regions that the lab's AWS has: those of an environment's sites."""

from __future__ import annotations

from collections.abc import Iterable

from clouds.aws.site import AwsSite
from clouds.base.site import SiteBase


def regions_of(sites: Iterable[SiteBase]) -> tuple[str, ...]:
    """Return the sites' regions, sorted and without duplicates."""
    return tuple(sorted({site.region for site in sites if isinstance(site, AwsSite)}))
