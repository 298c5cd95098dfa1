"""Appearance of on-premises sites on the map."""

from __future__ import annotations

from clouds.base.picture import Picture

PICTURE = Picture(title="Own racks", light="#227548", dark="#5cc48a", zones_have_ranges=False)
