"""Appearance of a cloud's sites on the map."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Picture:
    """Texts and colours of a cloud's sites on the map."""

    title: str
    """Title above the sites."""
    light: str
    """Colour on a light page. Text in this colour must be readable."""
    dark: str
    """Colour on a dark page. Text in this colour must be readable."""
    zones_have_ranges: bool
    """True when each zone has subnets of its own, which the map lists."""
    gateway: str = ""
    """Text about the VPN gateway that the cloud makes; empty where it makes none."""
    gateway_in_subnet: bool = False
    """True when the VPN gateway is in the site's gateway subnet, which the map then shows."""
