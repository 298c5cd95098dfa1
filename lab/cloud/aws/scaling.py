"""Auto scaling groups. moto keeps their settings; this module launches instances, chooses which to terminate, and
records activities."""

from __future__ import annotations

import json
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from moto.autoscaling.exceptions import AutoscalingClientError, ValidationError
from moto.autoscaling.models import ASG_NAME_TAG, AutoScalingBackend, FakeAutoScalingGroup, InstanceState
from moto.core.utils import utcnow
from moto.ec2.exceptions import EC2ClientError

from lab.cloud.aws.launching import check_template, launch

if TYPE_CHECKING:
    from lab.cloud.aws.moto_ec2 import LabEc2

KEPT_ACTIVITIES = 100
MOST_PROTECTED = 50
"""Largest number of instances in one ``SetInstanceProtection`` (Auto Scaling API)."""
MOST_ENDED = 100
"""Largest number of instances in one ``TerminateInstanceInAutoScalingGroup`` (Auto Scaling API, ``InstanceIds``)."""
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
    """Auto scaling group; moto's own object is turned into it right after it is made."""

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
        """Take instances out of the group one by one, and return the activities. With ``smaller``, the group's size
        shrinks with them, so it launches no replacements."""
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
        """Start to terminate an instance for a reason outside the group."""
        for state in self.instance_states:
            if state.instance.id == instance_id and state.lifecycle_state != ENDING:
                self._end(state, cause)

    def rebalance(self, instance_id: str) -> None:
        """Replace an instance that EC2 recommends to replace, if the group rebalances its capacity: another is launched
        first (docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-capacity-rebalancing.html)."""
        cause = "an instance was taken out of service in response to an EC2 rebalance recommendation"
        if self.capacity_rebalance and self.has(instance_id) and self._launch(cause):
            self.lose(instance_id, cause=cause)

    def detach(self, instance_id: str) -> None:
        """Detach an instance, which goes on without the group's tag
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
        """Start to terminate every instance, protected ones too; none is launched again."""
        self.status = DELETING
        self.desired_capacity = self.min_size = self.max_size = 0
        for state in self.active_instances():
            self._end(state, "a user request force-deleted AutoScalingGroup")

    def version(self) -> Any:
        """Return the launch template's version from which instances are made."""
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


class LabScaling(AutoScalingBackend):
    """Auto scaling groups of one region."""

    ec2_backend: LabEc2

    def groups(self) -> Iterator[LabGroup]:
        """Yield all groups."""
        for group in self.autoscaling_groups.values():
            if isinstance(group, LabGroup):
                yield group

    def create_auto_scaling_group(self, *, name: str, desired_capacity: Any, **settings: Any) -> LabGroup:  # type: ignore[override]
        """Create a group, and launch its first instances."""
        if name in self.autoscaling_groups:
            pending = " and is pending delete" if self.group(name).status == DELETING else ""
            text = (
                f"AutoScalingGroup by this name already exists - A group with the name {name} already exists{pending}"
            )
            raise AutoscalingClientError("AlreadyExists", text)
        for parameter in ("launch_template", "vpc_zone_identifier"):
            if not settings.get(parameter):
                raise ValidationError(f"The lab's groups have a launch template and subnets: {parameter} is missing")
        wanted = settings["min_size"] if desired_capacity is None else int(desired_capacity)
        _check_size(wanted, settings["min_size"], settings["max_size"])
        group: Any = super().create_auto_scaling_group(name=name, desired_capacity=0, **settings)
        group.__class__ = LabGroup
        group.activities = []
        try:
            check_template(self.ec2_backend.account, group.version())
        except EC2ClientError as problem:
            del self.autoscaling_groups[name]
            text = f"You must use a valid fully-formed launch template. {problem.message}"
            raise ValidationError(text) from problem
        group.desired_capacity = wanted
        group.follow(cause="a user request created an AutoScalingGroup")
        made_group: LabGroup = group
        return made_group

    def update_auto_scaling_group(self, *, name: str, capacity_rebalance: bool | None = None, **settings: Any) -> Any:  # type: ignore[override]
        """Update a group, capacity rebalancing included, which moto ignores."""
        group = self._kept(name)
        low = group.min_size if settings["min_size"] is None else settings["min_size"]
        high = group.max_size if settings["max_size"] is None else settings["max_size"]
        if settings["desired_capacity"] is not None:
            _check_size(settings["desired_capacity"], low, high)
        else:
            within = min(max(group.desired_capacity or 0, low or 0), high or 0)
            settings["desired_capacity"] = within if within != group.desired_capacity else None
        super().update_auto_scaling_group(name=name, **settings)
        if capacity_rebalance is not None:
            group.capacity_rebalance = capacity_rebalance
        return group

    def set_desired_capacity(self, group_name: str, desired_capacity: int | None) -> None:
        group = self._kept(group_name)
        _check_size(desired_capacity or 0, group.min_size, group.max_size)
        group.set_desired_capacity(desired_capacity)

    def set_instance_protection(
        self, group_name: str, instance_ids: list[str], protected_from_scale_in: bool | None
    ) -> None:
        """Protect instances of the group, or lift the protection; surplus instances without protection then end (Auto
        Scaling API, ``SetInstanceProtection``). moto ignores instances of other groups, and ends none."""
        group = self._kept(group_name)
        if len(instance_ids) > MOST_PROTECTED:
            raise ValidationError(f"The lab takes {MOST_PROTECTED} instances at most, as AWS does")
        _check_members(group, instance_ids)
        super().set_instance_protection(group_name, instance_ids, protected_from_scale_in)
        group.follow(cause="an instance was taken out of service in response to a difference between desired and "
                     "actual capacity, shrinking the capacity")  # fmt: skip

    def delete_auto_scaling_group(self, group_name: str, *, force: bool = False) -> None:
        """Delete a group; refuse while it has instances, unless ``force`` is set. Then the group stays until the last
        of them has ended. moto terminates the instances and forgets the group at once in either case."""
        group = self.group(group_name)
        if group.instance_states and not force:
            text = (
                "You cannot delete an AutoScalingGroup while there are instances or pending Spot instance request(s) "
            )
            raise AutoscalingClientError("ResourceInUse", text + "still in the group.")
        group.drain()
        self._forget_drained()

    def ended(self, instance_id: str) -> None:
        """Forget an instance that is gone for good, and the group that waited for it to be deleted."""
        for group in self.groups():
            group.ended(instance_id)
        self._forget_drained()

    def _forget_drained(self) -> None:
        for group in list(self.groups()):
            if group.status == DELETING and not group.instance_states:
                del self.autoscaling_groups[group.name]

    def terminate_instance(self, instance_id: str, should_decrement: bool) -> Any:
        for group in self.groups():
            if group.has(instance_id):
                if should_decrement and not group.may_lose(1):
                    raise ValidationError(
                        f"Currently, desiredSize equals minSize ({group.min_size}). Terminating instance without "
                        "replacement will violate group's min size constraint. Either set "
                        "shouldDecrementDesiredCapacity flag to false or lower group's min size."
                    )
                return group.take_out([instance_id], group.end, smaller=should_decrement)[0]
        raise _unknown(instance_id)

    def terminate_instances(self, group_name: str, instance_ids: list[str], *, smaller: bool) -> list[dict[str, Any]]:
        """Terminate several instances of one group (Auto Scaling API, ``TerminateInstanceInAutoScalingGroup``,
        ``InstanceIds``); moto has no such action. Here either all end or none, and the minimum size is treated as
        ``DetachInstances`` treats it, because the documents describe neither."""
        group = self._kept(group_name)
        if not 1 <= len(set(instance_ids)) == len(instance_ids) <= MOST_ENDED:
            raise ValidationError(f"The lab takes 1 to {MOST_ENDED} instances, each once")
        for instance_id in instance_ids:
            if not group.has(instance_id):
                raise _unknown(instance_id)
        if smaller and not group.may_lose(len(instance_ids)):
            raise ValidationError(
                f"AutoScalingGroup {group_name} has min-size={group.min_size}, max-size={group.max_size}, and "
                f"desired-size={group.desired_capacity}. To terminate {len(instance_ids)} instances, please update the "
                "AutoScalingGroup sizes appropriately."
            )
        return group.take_out(instance_ids, group.end, smaller=smaller)

    def detach_instances(self, group_name: str, instance_ids: list[str], should_decrement: bool) -> list[Any]:
        """Detach instances, all of which must belong to the group. Unless its capacity is decremented, it launches
        others (Auto Scaling API, ``DetachInstances``). moto ignores instances of other groups and the minimum size."""
        group = self._kept(group_name)
        _check_members(group, instance_ids)
        if should_decrement:
            _check_size((group.desired_capacity or 0) - len(instance_ids), group.min_size, group.max_size)
        return group.take_out(instance_ids, group.detach, smaller=should_decrement)

    def notify_terminate_instances(self, instance_ids: list[str]) -> None:
        """Replace instances that EC2 was asked to terminate."""
        for group in self.groups():
            for instance_id in instance_ids:
                group.lose(instance_id, cause="an instance was taken out of service in response to an EC2 health check "
                           "indicating it has been terminated or stopped")  # fmt: skip
            group.follow(
                cause="an instance was started in response to a difference between desired and actual capacity"
            )

    def group(self, name: str) -> LabGroup:
        """Return a group by its name.

        Raises:
            ValidationError: there is no such group.
        """
        live = self.autoscaling_groups.get(name)
        if not isinstance(live, LabGroup):
            raise ValidationError(f"AutoScalingGroup name not found - AutoScalingGroup '{name}' not found")
        return live

    def _kept(self, name: str) -> LabGroup:
        """Return a group that is to be changed.

        Raises:
            ValidationError: there is no such group, or it is being deleted.
        """
        group = self.group(name)
        if group.status == DELETING:
            raise ValidationError(f"AutoScalingGroup '{name}' is pending delete and cannot be changed")
        return group


def _unknown(instance_id: str) -> ValidationError:
    return ValidationError(f"Instance Id not found - No managed instance found for instance ID {instance_id}")


def _check_members(group: LabGroup, instance_ids: list[str]) -> None:
    for instance_id in instance_ids:
        if not group.has(instance_id):
            raise ValidationError(f"The instance {instance_id} is not part of Auto Scaling group {group.name}.")


def _check_size(desired: int, low: int | None, high: int | None) -> None:
    if desired > (high or 0):
        raise ValidationError(
            f"New SetDesiredCapacity value {desired} is above max value {high} for the AutoScalingGroup."
        )
    if desired < (low or 0):
        raise ValidationError(
            f"New SetDesiredCapacity value {desired} is below min value {low} for the AutoScalingGroup."
        )
