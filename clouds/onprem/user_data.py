"""Data that a machine of a rack is born with: none, Ansible brings it what it needs."""

from __future__ import annotations


def most() -> int | None:
    """Nothing is taken."""
    return None
