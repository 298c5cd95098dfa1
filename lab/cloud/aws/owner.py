"""Protocol of the account for its parts: the account imports the parts, so they cannot import it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, MutableMapping
from ipaddress import IPv4Address
from typing import Protocol

from moto.iam.models import IAMBackend


class Owner(Protocol):
    """The account that a region's backend belongs to."""

    images: dict[str, str]
    """Maps image ids to the hypervisor's names for them."""

    room: Callable[[Collection[str]], bool]
    """Returns whether the lab has room for one more instance, beside those that there are."""

    @property
    def iam(self) -> IAMBackend: ...

    @property
    def capacity(self) -> MutableMapping[str, int]:
        """Number of instances that can still be launched, by ``type@zone``; a key that is missing has no limit, or
        none of a scarce type."""

    @property
    def shortages(self) -> Mapping[str, str]:
        """Error codes of launches beyond :attr:`capacity`, by the same keys; InsufficientInstanceCapacity where none is
        named."""

    @property
    def quotas(self) -> Mapping[str, int]:
        """Quotas that differ from AWS's defaults, by :func:`lab.cloud.aws.quotas.quota_key`."""

    def instance_ids(self) -> list[str]:
        """Return the instances that run, in all regions."""

    def public_addresses(self) -> set[IPv4Address]:
        """Return every public address in use, in all regions."""
