"""Data that a machine in AWS is born with."""

from __future__ import annotations

MOST = 16384
"""Bytes before the base64 of the API (EC2 user guide, "Run commands when you launch an EC2 instance with user data
input")."""


def most() -> int | None:
    """What AWS takes."""
    return MOST
