"""Subscriptions of an environment's sites."""

from __future__ import annotations

from clouds.azure.site import AzureSite
from clouds.base.doctor import CloudShare
from clouds.base.section import IMAGINARY


def is_example(site: AzureSite) -> bool:
    """Return whether a site is in an example's subscription, which exists only in a lab."""
    return site.subscription.startswith(IMAGINARY)


def by_subscription(share: CloudShare[AzureSite]) -> dict[str, list[str]]:
    """Return the names of the sites in each subscription."""
    sites: dict[str, list[str]] = {}
    for name, place in share.places.items():
        sites.setdefault(place.site.subscription, []).append(name)
    return sites


def by_region(share: CloudShare[AzureSite]) -> dict[tuple[str, str], list[str]]:
    """Return the names of the sites by subscription and region."""
    sites: dict[tuple[str, str], list[str]] = {}
    for name, place in share.places.items():
        sites.setdefault((place.site.subscription, place.site.region), []).append(name)
    return sites
