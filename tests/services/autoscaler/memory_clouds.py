"""Groups of machines in clouds in memory, below the program's own adapters: what AWS's SDK and Azure's resource manager
answer, with refusals, throttling, short lists and outdated sizes."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

from botocore.exceptions import ClientError, EndpointConnectionError

from clouds.azure.errors import refusal
from tests.services.autoscaler.memory_api import ProcessLife

TEMPLATE = {"LaunchTemplateId": "lt-1", "Version": "1"}
END = timedelta(seconds=60)
"""Time in which it ends one."""
CODES = {"capacity": "InsufficientInstanceCapacity", "quota": "VcpuLimitExceeded"}
AZURE_CODES = {"capacity": "AllocationFailed", "quota": "QuotaExceeded"}


@dataclass
class CloudMachine:
    """A machine of a group."""

    id: str
    node: str
    made: datetime
    zone: str
    failed: str = ""
    """Cause for which it was never made, on Azure; empty when it was."""
    ending: datetime | None = None
    """Time at which it is gone; None while it stays."""
    used: bool = False
    """True once a pod of somebody has been on it."""


@dataclass
class CloudTrouble:
    """Faults of a group's cloud at the moment."""

    refuses: str = ""
    """Cause for which it makes no machine: ``capacity`` or ``quota``; empty when it does."""
    errors: tuple[str, ...] = ()
    """Kinds of errors of its answers: ``throttle``, ``busy``, ``down``, ``refused``."""
    share: float = 0.0
    """Share of the requests that have these errors."""
    short: int = 0
    """Number of machines that its lists lack."""
    stale: bool = False
    """True when its lists still have the size before the last write."""


@dataclass
class CloudGroup:
    """A group of machines."""

    name: str
    pool: str
    cloud: str
    region: str
    max: int
    zones: Sequence[str]
    watcher: GroupWatcher
    wanted: int = 0
    least: int = 0
    machines: dict[str, CloudMachine] = field(default_factory=dict)
    failures: list[tuple[datetime, str]] = field(default_factory=list)
    """Refused launches, with their causes, on AWS."""
    successes: list[datetime] = field(default_factory=list)
    trouble: CloudTrouble = field(default_factory=CloudTrouble)
    former: int = 0
    """Size before the last write."""
    etag: int = 0
    chance: random.Random = field(default_factory=random.Random)
    """Its own, since groups are asked by several threads."""
    _count: int = 0

    @property
    def counted(self) -> list[CloudMachine]:
        """Return the machines that its size counts."""
        return [machine for machine in self.machines.values() if machine.ending is None]

    @property
    def standing(self) -> list[CloudMachine]:
        """Return the machines that it has made and that stay."""
        return [machine for machine in self.counted if not machine.failed]

    def work(self, now: datetime) -> None:
        """Make and end machines."""
        for machine in [machine for machine in self.machines.values() if machine.ending and machine.ending <= now]:
            del self.machines[machine.id]
        missing = self.wanted - len(self.counted)
        for _ in range(missing):
            cause = self.trouble.refuses
            if cause and self.cloud == "aws":
                self.failures.append((now, cause))
                return
            self._count += 1
            stem = f"{self._count:06}" if self.cloud == "azure" else f"i-{self._count:08}{self.name[-6:]}"
            node = f"{self.name}{stem}" if self.cloud == "azure" else stem
            number = str(self._count) if self.cloud == "azure" else stem
            machine = CloudMachine(number, node.lower(), now, self.chance.choice(self.zones), failed=cause)
            self.machines[machine.id] = machine
            self.successes.append(now)
            if not cause:
                self.watcher.made(self, machine)
        for _ in range(-missing):
            # The cloud chooses, and its choice is always the worst.
            chosen = max(self.counted, key=lambda machine: (self.watcher.has_work(machine), machine.id))
            self.end(chosen, now)
        self.failures, self.successes = self.failures[-20:], self.successes[-20:]

    def end(self, machine: CloudMachine, now: datetime) -> None:
        """Begin to end a machine."""
        machine.ending = now + END
        self.watcher.ended(self, machine)

    def resize(self, count: int, *, by_hand: bool = False) -> None:
        """Set the size."""
        self.former, self.etag = self.wanted, self.etag + 1
        if not by_hand:
            self.watcher.resized(self, count)
        self.wanted = count


class GroupWatcher:
    """Looks at what happens to groups."""

    def made(self, group: CloudGroup, machine: CloudMachine) -> None:
        """Note a new machine."""

    def ended(self, group: CloudGroup, machine: CloudMachine) -> None:
        """Note the end of a machine, whoever wanted it."""

    def has_work(self, machine: CloudMachine) -> bool:
        """Return whether work is on a machine."""
        return False

    def resized(self, group: CloudGroup, count: int) -> None:
        """Note that the autoscaler is about to set a size."""

    def refused_end(self, group: CloudGroup, machines: Sequence[str]) -> None:
        """Note that a cloud refuses to end machines."""

    def asked_to_end(self, group: CloudGroup, machines: Sequence[CloudMachine]) -> None:
        """Note that the autoscaler is about to end machines."""


class StandIn:
    """The common part of all clouds."""

    def __init__(self, groups: Mapping[str, CloudGroup], life: ProcessLife, now: Callable[[], datetime]) -> None:
        """``groups`` are those of one region."""
        self._groups, self._life, self._now = groups, life, now

    def _listed(self, group: CloudGroup) -> list[CloudMachine]:
        machines = list(group.machines.values())
        return machines[group.trouble.short :] if group.trouble.short else machines

    def _error(self, group: CloudGroup) -> str:
        """Return the kind of error of this answer; empty without one."""
        self._life.check()
        trouble = group.trouble
        if not trouble.errors or group.chance.random() >= trouble.share:
            return ""
        return group.chance.choice(trouble.errors)


AWS_ERRORS = {
    "throttle": ("Throttling", "Rate exceeded"),
    "busy": ("ScalingActivityInProgress", "activity in progress"),
    "refused": ("ValidationError", "it is refused"),
}


class AwsStandIn(StandIn):
    """Clients of AWS's SDK for the groups of a region."""

    def __call__(self, _service: str) -> AwsStandIn:
        return self

    def _checked(self, name: str, operation: str) -> CloudGroup:
        group = self._groups[name]
        error = self._error(group)
        if error == "down":
            raise EndpointConnectionError(endpoint_url="https://autoscaling")
        if error:
            code, text = AWS_ERRORS[error]
            raise ClientError({"Error": {"Code": code, "Message": text}}, operation)
        return group

    def describe_auto_scaling_groups(self, *, AutoScalingGroupNames: Sequence[str]) -> Any:  # noqa: N803
        group = self._checked(AutoScalingGroupNames[0], "DescribeAutoScalingGroups")
        stale = group.trouble.stale
        # One outdated answer: the next one is not.
        group.trouble.stale = False
        instances = [
            {
                "InstanceId": machine.id,
                "LifecycleState": "Terminating" if machine.ending else "InService",
                "LaunchTemplate": TEMPLATE,
            }
            for machine in self._listed(group)
        ]
        return {
            "AutoScalingGroups": [
                {
                    "DesiredCapacity": group.former if stale else group.wanted,
                    "MinSize": group.least,
                    "LaunchTemplate": TEMPLATE,
                    "AvailabilityZones": list(group.zones),
                    "Instances": instances,
                }
            ]
        }

    def describe_scaling_activities(self, *, AutoScalingGroupName: str, MaxRecords: int) -> Any:  # noqa: N803
        group = self._checked(AutoScalingGroupName, "DescribeScalingActivities")
        launch = "Launching a new EC2 instance"
        entries = [(at, "Failed", CODES[cause]) for at, cause in group.failures]
        entries += [(at, "Successful", "") for at in group.successes]
        return {
            "Activities": [
                {
                    "StartTime": at,
                    "EndTime": at,
                    "StatusCode": status,
                    "Description": launch,
                    "StatusMessage": f"{code}: no such machine. Launching EC2 instance failed.",
                }
                for at, status, code in sorted(entries, reverse=True)[:MaxRecords]
            ]
        }

    def set_desired_capacity(self, *, AutoScalingGroupName: str, DesiredCapacity: int) -> None:  # noqa: N803
        group = self._checked(AutoScalingGroupName, "SetDesiredCapacity")
        if not group.least <= DesiredCapacity <= group.max:
            text = f"New SetDesiredCapacity value {DesiredCapacity} is outside the group's limits"
            raise ClientError({"Error": {"Code": "ValidationError", "Message": text}}, "SetDesiredCapacity")
        group.resize(DesiredCapacity)
        self._life.wrote()

    def terminate_instance_in_auto_scaling_group(
        self,
        *,
        ShouldDecrementDesiredCapacity: bool,  # noqa: N803
        InstanceId: str = "",  # noqa: N803
        InstanceIds: Sequence[str] = (),  # noqa: N803
        AutoScalingGroupName: str = "",  # noqa: N803
    ) -> None:
        ids = [InstanceId] if InstanceId else list(InstanceIds)
        name = AutoScalingGroupName or next(
            (group.name for group in self._groups.values() if ids[0] in group.machines), next(iter(self._groups))
        )
        group = self._checked(name, "TerminateInstanceInAutoScalingGroup")
        gone = [id_ for id_ in ids if id_ not in group.machines]
        text = f"Instance Id not found: {gone}" if gone else ""
        if ShouldDecrementDesiredCapacity and group.wanted - len(ids) < group.least:
            text = "Terminating instance would violate group's min size constraint"
        if text:
            group.watcher.refused_end(group, ids)
            raise ClientError({"Error": {"Code": "ValidationError", "Message": text}}, "TerminateInstance")
        machines = [group.machines[id_] for id_ in ids]
        group.watcher.asked_to_end(group, machines)
        for machine in machines:
            if machine.ending is None:
                group.former = group.wanted
                group.wanted -= ShouldDecrementDesiredCapacity
                group.end(machine, self._now())
        self._life.wrote()

    def get_paginator(self, _operation: str) -> AwsStandIn:
        return self

    def paginate(self, *, Filters: Sequence[Mapping[str, Any]]) -> Iterator[Any]:  # noqa: N803
        self._life.check()
        wanted = {*Filters[0]["Values"]}
        instances = [
            {"InstanceId": machine.id, "LaunchTime": machine.made}
            for group in self._groups.values()
            for machine in group.machines.values()
            if machine.id in wanted
        ]
        yield {"Reservations": [{"Instances": instances}]}


AZURE_ERRORS = {
    "throttle": (429, "TooManyRequests", [{"target": "HighCostGetVMScaleSet5MinResource"}], "30"),
    "busy": (409, "Conflict", [], ""),
    "down": (503, "ServiceUnavailable", [], ""),
    "refused": (400, "BadRequest", [], ""),
}


class AzureStandIn(StandIn):
    """Azure's resource manager for the scale sets of a resource group."""

    def request(
        self, method: str, url: str, *, body: Mapping[str, Any] | None = None, headers: Mapping[str, str] | None = None
    ) -> Any:
        parts = urlsplit(url)
        name, _, rest = parts.path.partition("/virtualMachineScaleSets")[2].removeprefix("/").partition("/")
        if not name:
            for group in self._groups.values():
                self._raise(self._error(group), f"{method} {parts.path}")
            # One set may be missing from the list, and its size be an older one.
            listed = [group for group in self._groups.values() if not group.trouble.short]
            sets = [self._set(group, stale=group.trouble.stale) for group in listed]
            return _answer({"value": sets})
        group = self._groups[name]
        self._raise(self._error(group), f"{method} {parts.path}")
        if method == "GET":
            machines = [self._machine(machine) for machine in self._listed(group)]
            return _answer({"value": machines} if rest else self._set(group, stale=False))
        self._write(group, f"{method} {parts.path}", body or {}, headers or {})
        self._life.wrote()
        return _answer({})

    def _write(self, group: CloudGroup, what: str, body: Mapping[str, Any], headers: Mapping[str, str]) -> None:
        if what.startswith("PATCH"):
            if headers.get("If-Match", str(group.etag)) != str(group.etag):
                self._raise("", what, status=412, code="PreconditionFailed")
            if group.trouble.refuses == "quota":
                self._raise("", what, status=409, code="QuotaExceeded")
            group.resize(int(body["sku"]["capacity"]))
            return
        machines = [group.machines[id_] for id_ in body["instanceIds"] if id_ in group.machines]
        group.watcher.asked_to_end(group, machines)
        for machine in machines:
            if machine.ending is None:
                group.former, group.etag = group.wanted, group.etag + 1
                group.wanted -= 1
                group.end(machine, self._now())

    def _raise(self, kind: str, what: str, *, status: int = 0, code: str = "") -> None:
        details: list[dict[str, str]] = []
        after = ""
        if kind:
            status, code, details, after = AZURE_ERRORS[kind]
        if status:
            error = {"code": code, "message": f"{code} is the reason", "details": details}
            raise refusal(what, error, status=status, reason=code, headers={"Retry-After": after})

    def _set(self, group: CloudGroup, *, stale: bool) -> dict[str, Any]:
        return {
            "name": group.name,
            "sku": {"name": "size", "capacity": group.former if stale else group.wanted},
            "etag": str(group.etag),
            "properties": {
                "provisioningState": "Succeeded" if len(group.counted) == group.wanted else "Updating",
                "virtualMachineProfile": {},
            },
        }

    def _machine(self, machine: CloudMachine) -> dict[str, Any]:
        state = "deleting" if machine.ending else "failed" if machine.failed else "succeeded"
        statuses: list[dict[str, str]] = []
        if machine.failed:
            code = AZURE_CODES[machine.failed]
            at = machine.made.isoformat()
            statuses = [{"code": f"ProvisioningState/failed/{code}", "message": f"{code}: none is left", "time": at}]
        return {
            "instanceId": machine.id,
            "properties": {
                "osProfile": {"computerName": machine.node},
                "latestModelApplied": True,
                "provisioningState": state,
                "timeCreated": machine.made.isoformat(),
                "instanceView": {"statuses": statuses},
            },
        }


def _answer(document: Mapping[str, Any]) -> Any:
    return SimpleNamespace(json=lambda: document, status_code=200, headers={}, content=b"x")
