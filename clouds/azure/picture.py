"""Appearance of Azure's sites on the map."""

from __future__ import annotations

from clouds.base.picture import Picture

PICTURE = Picture(
    title="Azure",
    light="#0b63c4",
    dark="#5aa9ff",
    # A subnet spans all zones.
    zones_have_ranges=False,
    gateway="two instances",
    gateway_in_subnet=True,
)
