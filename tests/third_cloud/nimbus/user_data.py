"""Data that a machine in Nimbus is born with."""

from __future__ import annotations

MOST = 32768


def most() -> int | None:
    """Bytes that Nimbus takes."""
    return MOST
