"""Appearance of AWS's sites on the map."""

from __future__ import annotations

from clouds.base.picture import Picture

PICTURE = Picture(title="AWS", light="#9c5000", dark="#f2a552", zones_have_ranges=True, gateway="of the VPC")
