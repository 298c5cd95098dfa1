"""Protocol of the account for its parts: the account imports the parts, so they cannot import it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, MutableMapping
from ipaddress import IPv4Address
from typing import Protocol

from moto.iam.models import IAMBackend


class Owner(Protocol):
    """The account to which a region's backend belongs."""

    images: dict[str, str]
    """Maps image ids to the hypervisor's names for them."""

    room: Callable[[Collection[str]], bool]
    """Returns whether the lab has room for one more instance, in addition to the existing ones."""

    @property
    def iam(self) -> IAMBackend: ...

    @property
    def capacity(self) -> MutableMapping[str, int]:
        """Number of instances that can still be launched, by ``type@zone``. For a missing key there is no limit, or,
        for a scarce type, no capacity."""

    @property
    def shortages(self) -> Mapping[str, str]:
        """Error codes of launches beyond :attr:`capacity`, by the same keys; InsufficientInstanceCapacity for a missing
        key."""

    @property
    def quotas(self) -> Mapping[str, int]:
        """Quotas that differ from AWS's defaults, by :func:`lab.cloud.aws.quotas.quota_key`."""

    def instance_ids(self) -> list[str]:
        """Return the running instances, in all regions."""

    def public_addresses(self) -> set[IPv4Address]:
        """Return every public address in use, in all regions."""
