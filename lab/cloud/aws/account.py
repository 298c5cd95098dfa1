"""State of the account: moto's backends with the lab's corrections, saved in one file.

Importing this module imports moto, which takes a second or two. So :mod:`lab.cloud.aws.cloud` imports it outside the
event loop, and only for an environment with a site on AWS.
"""

from __future__ import annotations

import json
import pickle
import weakref
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

from moto.autoscaling.models import autoscaling_backends
from moto.core.base_backend import BackendDict
from moto.ec2.models import ec2_backends
from moto.iam.models import IAMBackend, iam_backends
from moto.sts.models import STSBackend, sts_backends

from lab.cloud.aws.hosts import ACCOUNT
from lab.cloud.aws.moto_ec2 import LabEc2
from lab.cloud.aws.scaling import LabScaling

GLOBAL = "aws"
"""moto's name of the partition that holds global services."""
OPERATOR = "operator"
"""IAM user that has the operator's key pair and may do everything."""
_ADMINISTRATOR = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}


Room = Callable[[Collection[str]], bool]


class StateError(RuntimeError):
    """Raised when the account's file cannot be read: another version of moto or of this program wrote it."""


@dataclass
class AccountObjects:
    """Everything in the account's file. The objects refer to each other, so they are written together."""

    ec2: dict[str, LabEc2]
    scaling: dict[str, LabScaling]
    iam: IAMBackend
    sts: STSBackend
    capacity: dict[str, int] = field(default_factory=dict)
    quotas: dict[str, int] = field(default_factory=dict)
    shortages: dict[str, str] = field(default_factory=dict)


class AwsAccount:
    """One account of AWS in the environment's regions.

    Raises:
        StateError: the file cannot be read.
        OSError: the file cannot be written.
    """

    def __init__(
        self, path: Path, *, regions: Sequence[str], images: Mapping[str, str], key: tuple[str, str], room: Room
    ) -> None:
        """``images`` maps image ids to the hypervisor's names for them; ``key`` is the operator's key pair; ``room`` as
        in :class:`lab.cloud.aws.owner.Owner`."""
        self._path = path
        self.images = dict(images)
        self.room = room
        BackendDict.reset()  # type: ignore[no-untyped-call, unused-ignore]
        self.objects = self._read() if path.exists() else _new(regions)
        for region in regions:
            if region not in self.objects.ec2:
                self.objects.ec2[region] = LabEc2(region, ACCOUNT)
        self._install(regions)
        self._ensure_operator(*key)

    def save(self) -> None:
        """Write everything, so that a daemon started after a kill answers as before."""
        beside = self._path.with_suffix(".new")
        beside.touch(mode=0o600)
        beside.write_bytes(pickle.dumps(self.objects, protocol=pickle.HIGHEST_PROTOCOL))
        beside.replace(self._path)

    @property
    def ec2(self) -> Iterable[LabEc2]:
        """EC2 in each region."""
        return self.objects.ec2.values()

    @property
    def scaling(self) -> Iterable[LabScaling]:
        """Auto scaling in each region."""
        return self.objects.scaling.values()

    @property
    def iam(self) -> IAMBackend:
        return self.objects.iam

    @property
    def sts(self) -> STSBackend:
        return self.objects.sts

    @property
    def capacity(self) -> dict[str, int]:
        """Number of instances that can still be launched, by ``type@zone``. A missing key means no limit, but no
        capacity for a scarce type."""
        return self.objects.capacity

    @property
    def shortages(self) -> dict[str, str]:
        """Error codes of launches beyond :attr:`capacity`, by the same keys. A missing key means
        InsufficientInstanceCapacity."""
        return self.objects.shortages

    @property
    def quotas(self) -> dict[str, int]:
        """Quotas that differ from AWS's defaults, by :func:`lab.cloud.aws.quotas.quota_key`."""
        return self.objects.quotas

    def instances(self) -> Iterator[tuple[LabEc2, Any]]:
        """Yield every instance that is not terminated, with its region's EC2."""
        for ec2 in self.ec2:
            for instance in ec2.all_instances():
                if instance.state != "terminated":
                    yield ec2, instance

    def instance_ids(self) -> list[str]:
        """Return the ids of the running instances, in all regions."""
        return [instance.id for _, instance in self.instances() if instance.state == "running"]

    def public_addresses(self) -> set[IPv4Address]:
        """Return every public address in use, in all regions."""
        return {address for ec2 in self.ec2 for address in ec2.public_addresses()}

    def _read(self) -> AccountObjects:
        try:
            # The file is our own, in a folder that only the lab's user can write to.
            content = pickle.loads(self._path.read_bytes())  # noqa: S301
        except Exception as problem:
            why = "was it written by another version? Take the lab down and start it again"
            raise StateError(f"{self._path} cannot be read: {problem} ({why})") from problem
        if not isinstance(content, AccountObjects):
            raise StateError(f"{self._path} does not hold an account; take the lab down and start it again")
        for ec2 in content.ec2.values():
            _register(ec2)
        return content

    def _install(self, regions: Sequence[str]) -> None:
        """Install the lab's backends where moto looks for its own."""
        for region in regions:
            self.objects.ec2[region].account = self
            ec2_backends[ACCOUNT][region] = self.objects.ec2[region]
            if region not in self.objects.scaling:
                self.objects.scaling[region] = LabScaling(region, ACCOUNT)
            autoscaling_backends[ACCOUNT][region] = self.objects.scaling[region]
        iam_backends[ACCOUNT][GLOBAL] = self.objects.iam
        sts_backends[ACCOUNT][GLOBAL] = self.objects.sts

    def _ensure_operator(self, key_id: str, secret: str) -> None:
        if OPERATOR in self.iam.users:
            return
        self.iam.create_user("aws", OPERATOR)
        self.iam.put_user_policy(OPERATOR, "administrator", json.dumps(_ADMINISTRATOR))
        key = self.iam.create_access_key(OPERATOR)
        key.access_key_id, key.secret_access_key = key_id, secret


def _new(regions: Sequence[str]) -> AccountObjects:
    return AccountObjects(
        ec2={region: LabEc2(region, ACCOUNT) for region in regions},
        scaling={},
        iam=IAMBackend(GLOBAL, ACCOUNT),
        sts=STSBackend(GLOBAL, ACCOUNT),
    )


def _register(ec2: LabEc2) -> None:
    """Register a backend where moto looks for VPCs of other regions, as a backend's constructor does."""
    ec2.vpc_refs[type(ec2)].add(weakref.ref(ec2))
    ec2.vpc_pcx_refs[type(ec2)].add(weakref.ref(ec2))
