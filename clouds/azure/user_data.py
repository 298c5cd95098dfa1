"""Data that a machine in Azure is born with."""

from __future__ import annotations

MOST = 65535
"""Bytes before the base64 of the API (compute REST API, "OSProfile.customData")."""


def most() -> int | None:
    """What Azure takes."""
    return MOST
