"""How a cloud's sites are drawn."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Picture:
    """What a map says of every site of a cloud."""

    title: str
    """Above the sites."""
    light: str
    """Colour on a light page; a text has to be read in it."""
    dark: str
    """On a dark one."""
    zones_have_ranges: bool
    """Whether each zone has subnets of its own, which the map lists."""
    gateway: str = ""
    """What is said of the gateway that the cloud makes; empty where it makes none."""
    gateway_in_subnet: bool = False
    """Whether it stands in the site's subnet for gateways, which is said too."""
