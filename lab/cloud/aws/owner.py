"""Protocol of the account, for the account's parts. The account imports its parts, so the parts cannot import the
account."""

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
        """Number of instances that can still be launched, by ``type@zone``. A missing key means no limit, but no
        capacity for a scarce type."""

    @property
    def shortages(self) -> Mapping[str, str]:
        """Error codes of launches beyond :attr:`capacity`, by the same keys. A missing key means
        InsufficientInstanceCapacity."""

    @property
    def quotas(self) -> Mapping[str, int]:
        """Quotas that differ from AWS's defaults, by :func:`lab.cloud.aws.quotas.quota_key`."""

    def instance_ids(self) -> list[str]:
        """Return the ids of the running instances, in all regions."""

    def public_addresses(self) -> set[IPv4Address]:
        """Return every public address in use, in all regions."""
