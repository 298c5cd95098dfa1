"""Subscriptions of an environment's sites."""

from __future__ import annotations

from clouds.azure.site import AzureSite
from clouds.base.doctor import Share
from clouds.base.section import IMAGINARY


def is_imaginary(site: AzureSite) -> bool:
    """Whether a site is in an example's subscription, for which only a lab can stand."""
    return site.subscription.startswith(IMAGINARY)


def by_subscription(share: Share[AzureSite]) -> dict[str, list[str]]:
    """Names of the sites in each subscription."""
    found: dict[str, list[str]] = {}
    for name, place in share.places.items():
        found.setdefault(place.site.subscription, []).append(name)
    return found


def by_region(share: Share[AzureSite]) -> dict[tuple[str, str], list[str]]:
    """Names of the sites by subscription and region."""
    found: dict[tuple[str, str], list[str]] = {}
    for name, place in share.places.items():
        found.setdefault((place.site.subscription, place.site.region), []).append(name)
    return found
