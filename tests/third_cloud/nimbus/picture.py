"""Colours and words of Nimbus's sites in pictures."""

from __future__ import annotations

from clouds.base.picture import Picture

PICTURE = Picture(title="Nimbus", light="#7a3e9d", dark="#c79be0", zones_have_ranges=False, gateway="of the fabric")
