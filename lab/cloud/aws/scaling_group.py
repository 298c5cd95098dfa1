"""One auto scaling group: which instances it launches and terminates, and its record of activities."""

from __future__ import annotations

import json
import uuid
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from moto.autoscaling.exceptions import ValidationError
from moto.autoscaling.models import ASG_NAME_TAG, FakeAutoScalingGroup, InstanceState
from moto.core.utils import utcnow
from moto.ec2.exceptions import EC2ClientError

from lab.cloud.aws.launching import launch

if TYPE_CHECKING:
    from lab.cloud.aws.moto_ec2 import LabEc2

KEPT_ACTIVITIES = 100
ENDING = "Terminating"
DELETING = "Delete in progress"
"""Status of a group that is being deleted: AutoScalingGroup, Auto Scaling's API reference."""


class LabInstance(InstanceState):
    """Instance of a group with the template version that it was launched from; moto reports the template's default
    version for every instance."""

    def __init__(self, instance: Any, *, version: Any, protected: bool | None) -> None:
        super().__init__(instance, protected_from_scale_in=protected)
        self._version = str(version.number)

    @property
    def launch_template(self) -> dict[str, Any] | None:
        template = super().launch_template
        return {**template, "Version": self._version} if template else None


class LabGroup(FakeAutoScalingGroup):
    """Auto scaling group. The lab converts each group that moto makes into this class."""

    activities: list[dict[str, Any]]
    ec2_backend: LabEc2
    status: str | None = None
    """:data:`DELETING`, or None."""

    def set_desired_capacity(self, new_capacity: int | None) -> None:
        """Set a new size, and launch or terminate instances to match."""
        self.desired_capacity = self.min_size if new_capacity is None else new_capacity
        self.follow(cause="a user request explicitly set group desired capacity")

    def has(self, instance_id: str) -> bool:
        """Return whether an instance belongs to the group and is not about to leave it."""
        return any(state.instance.id == instance_id for state in self.active_instances())

    def take_out(self, instance_ids: list[str], take: Callable[[str], None], *, smaller: bool) -> list[dict[str, Any]]:
        """Take instances out of the group one by one, and return the activities. With ``smaller``, the group's desired
        size shrinks too, so the group launches no replacements."""
        if smaller:
            self.desired_capacity = (self.desired_capacity or 0) - len(instance_ids)
        for instance_id in instance_ids:
            take(instance_id)
        activities = self.activities[: len(instance_ids)]
        self.follow(cause="an instance was started in response to a difference between desired and actual capacity")
        return activities

    def may_lose(self, count: int) -> bool:
        """Return whether the group may shrink by this number of instances."""
        return (self.desired_capacity or 0) - count >= (self.min_size or 0)

    def replace_autoscaling_group_instances(self, *_given: object) -> None:
        """Replace instances that were terminated outside the group."""
        self.follow(cause="an instance was taken out of service in response to an EC2 health check")

    def follow(self, *, cause: str) -> None:
        """Launch missing instances and terminate surplus ones. A failed launch is retried later."""
        missing = (self.desired_capacity or 0) - len(self.active_instances())
        for state in self._surplus(-missing):
            self._end(state, cause)
        for _ in range(missing):
            if "Launch" in self._suspended_processes or not self._launch(cause):
                return

    @property
    def short(self) -> bool:
        """Return whether instances are missing."""
        return len(self.active_instances()) < (self.desired_capacity or 0)

    def ended(self, instance_id: str) -> None:
        """Forget an instance that is gone for good."""
        self.instance_states = [state for state in self.instance_states if state.instance.id != instance_id]

    def end(self, instance_id: str) -> None:
        """Start to terminate an instance on request."""
        self.lose(instance_id, cause="an instance was taken out of service in response to a user request")

    def lose(self, instance_id: str, *, cause: str) -> None:
        """Start to terminate an instance, and record the cause."""
        for state in self.instance_states:
            if state.instance.id == instance_id and state.lifecycle_state != ENDING:
                self._end(state, cause)

    def rebalance(self, instance_id: str) -> None:
        """Replace an instance that EC2 recommends to replace, if the group rebalances its capacity. The replacement is
        launched first (docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-capacity-rebalancing.html)."""
        cause = "an instance was taken out of service in response to an EC2 rebalance recommendation"
        if self.capacity_rebalance and self.has(instance_id) and self._launch(cause):
            self.lose(instance_id, cause=cause)

    def detach(self, instance_id: str) -> None:
        """Detach an instance, which keeps running without the group's tag
        (docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-detach-attach-instances.html). moto leaves out
        the activity."""
        (state,) = (
            active_instance for active_instance in self.active_instances() if active_instance.instance.id == instance_id
        )
        self.instance_states.remove(state)
        self.ec2_backend.delete_tags([instance_id], {ASG_NAME_TAG: self.name})
        instance: Any = state.instance
        instance.autoscaling_group = None
        subnet = self.ec2_backend.get_subnet(str(state.instance.subnet_id))
        cause = "an instance was detached in response to a user request"
        self._note(f"Detaching EC2 instance: {instance_id}", cause, subnet)

    def drain(self) -> None:
        """Start to terminate every instance, including protected ones, and launch no replacements."""
        self.status = DELETING
        self.desired_capacity = self.min_size = self.max_size = 0
        for state in self.active_instances():
            self._end(state, "a user request force-deleted AutoScalingGroup")

    def version(self) -> Any:
        """Return the version of the launch template from which the group launches instances."""
        if self.ec2_launch_template is None:
            raise ValidationError("The lab's groups are made from launch templates")
        return self.ec2_launch_template.get_version(self.launch_template_version)

    def _surplus(self, count: int) -> list[InstanceState]:
        """Choose the instances to terminate: the oldest in the zone with most instances, as AWS's default policy does
        when templates are equal."""
        left = [state for state in self.active_instances() if not state.protected_from_scale_in]
        chosen: list[InstanceState] = []
        while len(chosen) < count and left:
            zones = Counter(state.availability_zone for state in left)
            fullest = max(sorted(zones, key=str), key=lambda zone: zones[zone])
            oldest = next(state for state in left if state.availability_zone == fullest)
            chosen.append(oldest)
            left.remove(oldest)
        return chosen

    def _launch(self, cause: str) -> bool:
        instances_by_subnet = Counter(state.instance.subnet_id for state in self.active_instances())
        subnets = [self.ec2_backend.get_subnet(subnet_id) for subnet_id in (self.vpc_zone_identifier or "").split(",")]
        tags = {**self.get_propagated_tags(), ASG_NAME_TAG: self.name}
        for subnet in sorted(subnets, key=lambda candidate: instances_by_subnet[candidate.id]):
            try:
                version = self.version()
                instance = launch(
                    self.ec2_backend,
                    template=self.ec2_launch_template,
                    version=version,
                    subnet=subnet,
                    tags=tags,
                )
            except EC2ClientError as problem:
                self._note(f"Launching a new EC2 instance.  Status Reason: {problem.message}", cause, subnet, problem)
                continue
            instance.autoscaling_group = self
            protected = self.new_instances_protected_from_scale_in
            self.instance_states.append(LabInstance(instance, version=version, protected=protected))
            self._note(f"Launching a new EC2 instance: {instance.id}", cause, subnet)
            return True
        return False

    def _end(self, state: InstanceState, cause: str) -> None:
        state.lifecycle_state = ENDING
        self.ec2_backend.terminate_instances([state.instance.id])
        subnet = self.ec2_backend.get_subnet(str(state.instance.subnet_id))
        self._note(f"Terminating EC2 instance: {state.instance.id}", cause, subnet)

    def _note(self, description: str, cause: str, subnet: Any, problem: EC2ClientError | None = None) -> None:
        now = utcnow()
        where = json.dumps({"Subnet ID": subnet.id, "Availability Zone": subnet.availability_zone})
        last = self.activities[0] if self.activities else {}
        if problem and (description, where, "Failed") == tuple(map(last.get, ("Description", "Details", "StatusCode"))):
            last["StartTime"] = last["EndTime"] = now  # a retry with the same result
            return
        note = {
            "ActivityId": str(uuid.uuid4()),
            "AutoScalingGroupName": self.name,
            "AutoScalingGroupARN": self.arn,
            "Description": description,
            "Cause": f"At {now:%Y-%m-%dT%H:%M:%SZ} {cause}.",
            "StartTime": now,
            "EndTime": now,
            "StatusCode": "Failed" if problem else "Successful",
            "Progress": 100,
            "Details": where,
        }
        if problem:
            note["StatusMessage"] = f"{problem.message} Launching EC2 instance failed."
        self.activities = [note, *self.activities][:KEPT_ACTIVITIES]
