"""The account as its parts ask it: each part is below the account that holds them all."""

from __future__ import annotations

from collections.abc import MutableMapping
from ipaddress import IPv4Address
from typing import Protocol

from moto.iam.models import IAMBackend


class Owner(Protocol):
    """The account that a region's backend belongs to."""

    images: dict[str, str]
    """Image ids to the names that the hypervisor knows them by."""

    @property
    def iam(self) -> IAMBackend: ...

    @property
    def capacity(self) -> MutableMapping[str, int]:
        """Instances that may still be launched, by ``type@zone``; what is not named has no limit."""

    def public_addresses(self) -> set[IPv4Address]:
        """Every public address that is taken, in all regions."""
