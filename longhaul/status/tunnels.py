"""Asks the clouds for the tunnels between sites, all at once."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from clouds.base.errors import CloudError
from clouds.base.tunnels import TunnelView
from clouds.registry import cloud_of
from components.model.network.links import LinkKind, links
from components.model.sites.places import place_of

if TYPE_CHECKING:
    from components.model import Environment

AT_ONCE = 8


def ipsec_links(environment: Environment) -> tuple[str, ...]:
    """Return the links that consist of tunnels."""
    return tuple(link.name for link in links(environment) if link.kind is LinkKind.IPSEC)


def ask_tunnels(environment: Environment) -> tuple[tuple[TunnelView, ...], dict[str, str]]:
    """Return the tunnels as every linked site reports them, and the sites that could not be asked, with the reason."""
    names = ipsec_links(environment)
    linked = {site for link in links(environment) if link.name in names for site in (link.first, link.second)}
    views: list[TunnelView] = []
    blind: dict[str, str] = {}
    with ThreadPoolExecutor(max_workers=AT_ONCE) as pool:
        asked = {site: pool.submit(_ask, environment, site, names) for site in environment.sites if site in linked}
        for site, answer in asked.items():
            try:
                views += answer.result()
            except CloudError as error:
                blind[site] = str(error)
    return tuple(views), blind


def _ask(environment: Environment, site: str, names: Sequence[str]) -> list[TunnelView]:
    place = place_of(environment, site)
    return cloud_of(place.site).tunnels.views(place, names)
