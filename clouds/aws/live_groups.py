"""A pool on AWS: an auto scaling group. Fields and errors: docs.aws.amazon.com, Auto Scaling API,
``DescribeAutoScalingGroups``, ``DescribeScalingActivities``, ``TerminateInstanceInAutoScalingGroup`` and
``SetDesiredCapacity``.

An instance refresh is not used. It terminates instances by health and time alone, without regard to the workloads on
them and their checkpoints.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from clouds.aws.groups import AwsPoolGroups
from clouds.aws.session import AwsError, aws_errors, prompt, shared
from clouds.aws.site import AwsSite
from clouds.base.errors import CloudError
from clouds.base.live_groups import GroupState, Life, LiveMachine, WholeObservation
from clouds.base.place import Place
from clouds.base.refusals import Cause, Refusal, cause_of

LIVES = {"Terminat": Life.LEAVING, "Pending": Life.CHANGING, "ReplacingRootVolume": Life.CHANGING}
"""Life of a machine by the first letters of its lifecycle state."""
MOST_IDS = 200
"""Largest number of values of a filter (docs.aws.amazon.com, EC2 API, ``DescribeInstances``)."""

MOST_ACTIVITIES = 100
"""Largest number of activities in one answer (Auto Scaling API, ``DescribeScalingActivities``)."""
AT_LEAST = "violate group's min size constraint"
"""Part of AWS's message when a termination would make a group smaller than its ``MinSize`` (``ValidationError``)."""
LAUNCH = "Launching a new EC2 instance"
"""First words of a launch activity's description."""
OVER = ("Successful", "Failed", "Cancelled")
"""Status codes of activities that have ended (Auto Scaling API, ``Activity``)."""
HANGS = timedelta(minutes=15)
"""Time after which an unfinished launch is ignored."""
NEXT_ZONE = timedelta(seconds=30)
"""Time for a group in several zones to try the next zone after a failed launch."""
SIGNS = {
    Cause.ADDRESSES: ("insufficientfreeaddressesinsubnet", "not enough free addresses"),
    Cause.QUOTA: (
        "vcpulimitexceeded", "vcpu limit", "instancelimitexceeded", "instance limit", "quota",
        "maxspotinstancecountexceeded", "max spot instance count",
    ),
    Cause.SPOT: ("spotmaxpricetoolow", "spot request price", "no spot capacity"),
    Cause.CAPACITY: (
        "insufficientinstancecapacity", "not have sufficient", "insufficient capacity", "unfulfillablecapacity",
        "unable to fulfill capacity", "insufficienthostcapacity", "insufficientreservedinstancecapacity",
        "reservationcapacityexceeded",
    ),
}  # fmt: skip
"""Texts in an activity's message that indicate a cause. The message has an error code only in groups of several machine
types (docs.aws.amazon.com, "Troubleshoot Amazon EC2 Auto Scaling: EC2 instance launch failures"; EC2 API, "Error
codes")."""


SCALES = (
    "autoscaling:DescribeAutoScalingGroups",
    "autoscaling:DescribeScalingActivities",
    "autoscaling:SetDesiredCapacity",
    "autoscaling:TerminateInstanceInAutoScalingGroup",
    "ec2:DescribeInstances",
    "ec2:DescribeLaunchTemplates",
)
"""Actions that an autoscaler needs (docs.aws.amazon.com, Service Authorization Reference, "Actions, resources, and
condition keys for Amazon EC2 Auto Scaling"). The ``Describe`` actions cannot be limited to a group; the other two
can."""


class AwsGroup(WholeObservation):
    """An auto scaling group. A roll terminates its machines one by one; the group replaces each with a new one and
    keeps its size."""

    in_place = False
    looks_apart_s = 0.0
    ends_at_once = 100
    """Limit of ``InstanceIds`` (Auto Scaling API, ``TerminateInstanceInAutoScalingGroup``)."""

    def __init__(
        self,
        name: str,
        *,
        region: str,
        client: Callable[[str], Any] | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """``client`` returns the SDK's client of a service."""
        self._name, self._region, self._clock = name, region, clock
        self._zones = 1
        self._client = client or partial(shared().client, region=region)
        self._promptly = client or partial(prompt().client, region=region)
        self._subject = f"AWS {region}, {name}"

    def look(self) -> GroupState:
        """Return the group. This takes one call for the group and its machines, and another when the group does not
        state its template's version."""
        with aws_errors(f"{self._subject}, what it is"):
            group = self._group()
            template, version = self._template(group)
        self._zones = len(group.get("AvailabilityZones") or ())
        return GroupState(
            target=f"{template}:{version}",
            wanted=int(group["DesiredCapacity"]),
            machines=tuple(machines(group, template, version)),
            least=int(group.get("MinSize") or 0),
        )

    def replace(self, machine: LiveMachine) -> None:
        """Terminate the machine. The group makes another one from its present template."""
        with aws_errors(f"{self._subject}, the end of {machine.id}"):
            self._client("autoscaling").terminate_instance_in_auto_scaling_group(
                InstanceId=machine.id, ShouldDecrementDesiredCapacity=False
            )

    def rebuild(self, machine: LiveMachine) -> None:
        """Raise ``NotImplementedError``: AWS does not replace a machine in place."""
        raise NotImplementedError(f"{machine.id}: AWS replaces machines, and rebuilds none in place")

    def remake(self, machine: LiveMachine) -> None:
        """Replace the machine, in the same way as :meth:`replace`."""
        self.replace(machine)

    def size(self) -> int:
        """Return the desired capacity."""
        with aws_errors(self._subject):
            return int(self._group()["DesiredCapacity"])

    def resize(self, count: int) -> None:
        """Set the desired capacity. The request is sent once: a repeat could overwrite a size that somebody has set
        since."""
        with aws_errors(self._subject):
            self._promptly("autoscaling").set_desired_capacity(AutoScalingGroupName=self._name, DesiredCapacity=count)

    def end(self, machines: Sequence[str], *, replaced: bool = False) -> None:
        """Terminate instances in one call, which lowers the desired capacity by their number (Auto Scaling API,
        ``TerminateInstanceInAutoScalingGroup``). AWS refuses to make the group smaller than its minimum. A single
        instance is then replaced if ``replaced`` is true."""
        if len(machines) > 1:
            called = f"{machines[0]} and {len(machines) - 1} more"
            self._terminate(called, smaller=True, AutoScalingGroupName=self._name, InstanceIds=list(machines))
            return
        (only,) = machines
        try:
            self._terminate(only, smaller=True, InstanceId=only)
        except AwsError as error:
            if AT_LEAST not in error.cloud_message or not replaced:
                raise
            self._terminate(only, smaller=False, InstanceId=only)

    def _terminate(self, called: str, *, smaller: bool, **which: object) -> None:
        with aws_errors(f"{self._subject}, the end of {called}"):
            self._promptly("autoscaling").terminate_instance_in_auto_scaling_group(
                ShouldDecrementDesiredCapacity=smaller, **which
            )

    def made_at(self, machines: Sequence[LiveMachine]) -> dict[str, str]:
        """Return the instances' launch times. A filter, unlike a list of ids, may name instances that no longer
        exist."""
        ids = [machine.id for machine in machines]
        with aws_errors(f"{self._subject}, the age of its instances"):
            pages = self._client("ec2").get_paginator("describe_instances")
            return {
                str(instance["InstanceId"]): instance["LaunchTime"].isoformat()
                for first in range(0, len(ids), MOST_IDS)
                for page in pages.paginate(Filters=[{"Name": "instance-id", "Values": ids[first : first + MOST_IDS]}])
                for reservation in page["Reservations"]
                for instance in reservation["Instances"]
            }

    def refusals(self) -> tuple[Refusal, ...]:
        """Return the failed launches since the last successful one. One call for the newest activities is enough. A
        group that :meth:`look` found in several zones gets time to try the next zone."""
        with aws_errors(f"{self._subject}, its scaling activities"):
            answer = self._client("autoscaling").describe_scaling_activities(
                AutoScalingGroupName=self._name, MaxRecords=MOST_ACTIVITIES
            )
        grace = NEXT_ZONE if self._zones > 1 else timedelta()
        return tuple(refused(answer["Activities"], now=self._clock(), grace=grace))

    def console(self, machine: LiveMachine) -> str:
        """Return the command for EC2's copy of the serial console."""
        return f"aws ec2 get-console-output --region {self._region} --instance-id {machine.id} --latest --output text"

    def _group(self) -> Mapping[str, Any]:
        answer = self._client("autoscaling").describe_auto_scaling_groups(AutoScalingGroupNames=[self._name])
        for group in answer["AutoScalingGroups"]:
            return dict(group)
        raise CloudError(f"AWS {self._region} has no auto scaling group {self._name}: `longhaul up` makes it")

    def _template(self, group: Mapping[str, Any]) -> tuple[str, str]:
        """Return the id and the version of the launch template for the group's next machine."""
        named = group.get("LaunchTemplate")
        if not named:
            raise CloudError(
                f"auto scaling group {self._name} names no launch template, so it is unknown which machines are old: "
                "`longhaul up` repairs it"
            )
        template, version = str(named["LaunchTemplateId"]), str(named.get("Version") or "$Default")
        if not version.startswith("$"):
            return template, version
        described = self._client("ec2").describe_launch_templates(LaunchTemplateIds=[template])
        key = "LatestVersionNumber" if version == "$Latest" else "DefaultVersionNumber"
        return template, str(described["LaunchTemplates"][0][key])


def live_groups(place: Place[AwsSite], name: str) -> dict[str, AwsGroup]:
    """Return the pool's only group, by its name."""
    return {
        group.name: AwsGroup(group.name, region=place.site.region) for group in AwsPoolGroups().of_pool(place, name)
    }


def machines(group: Mapping[str, Any], template: str, version: str) -> Iterator[LiveMachine]:
    """Yield the group's instances. States: docs.aws.amazon.com, "Amazon EC2 Auto Scaling instance lifecycle".
    Protection from scale-in is ignored in a group that protects every new instance."""
    every = bool(group.get("NewInstancesProtectedFromScaleIn"))
    for item in group.get("Instances", []):
        made_from = item.get("LaunchTemplate") or {}
        state = str(item.get("LifecycleState", ""))
        aside = "Standby" in state or state.startswith("Detach")
        protected = bool(item.get("ProtectedFromScaleIn")) and not every
        yield LiveMachine(
            id=str(item["InstanceId"]),
            node=str(item["InstanceId"]),
            current=(made_from.get("LaunchTemplateId"), str(made_from.get("Version"))) == (template, version),
            life=next((life for start, life in LIVES.items() if state.startswith(start)), Life.PRESENT),
            # The desired capacity does not count an instance in standby (Auto Scaling user guide, "Temporarily remove
            # instances from your Auto Scaling group").
            counted=state != "Standby",
            keep_reason=f"AWS has it as {state}" if aside else "AWS protects it from scale-in" if protected else "",
        )


def refused(
    activities: Iterable[Mapping[str, Any]], *, now: datetime | None = None, grace: timedelta = timedelta()
) -> Iterator[Refusal]:
    """Yield the launches that failed since the last successful launch; none while a launch is running, since a group
    that fails in one zone goes on in the next. A failure counts once it is as old as ``grace``. ``now`` defaults to the
    start of the newest launch."""
    launches = [activity for activity in activities if str(activity.get("Description", "")).startswith(LAUNCH)]
    if not launches:
        return
    at = now or max(launch["StartTime"] for launch in launches)
    if any(launch["StatusCode"] not in OVER and at - launch["StartTime"] < HANGS for launch in launches):
        return
    last = max((launch["StartTime"] for launch in launches if launch["StatusCode"] == "Successful"), default=None)
    for launch in launches:
        stands = launch["StatusCode"] == "Failed" and (last is None or launch["StartTime"] >= last)
        if stands and at - launch.get("EndTime", launch["StartTime"]) >= grace:
            words = _words(str(launch.get("StatusMessage") or launch["Description"]))
            yield Refusal(cause=cause_of(words, SIGNS), at=launch["StartTime"], words=words)


def _words(message: str) -> str:
    """Return the part of a message that is specific to this refusal."""
    return re.sub(r"^Could not launch [\w -]+ Instances\. |\s*Launching EC2 instance failed\.?\s*$", "", message)
