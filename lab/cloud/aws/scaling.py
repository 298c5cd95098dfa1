"""Actions of Auto Scaling on groups. moto keeps the groups' settings; scaling_group.py launches and terminates their
instances."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from moto.autoscaling.exceptions import AutoscalingClientError, ValidationError
from moto.autoscaling.models import AutoScalingBackend
from moto.ec2.exceptions import EC2ClientError

from lab.cloud.aws.launching import check_template
from lab.cloud.aws.scaling_group import DELETING, LabGroup

if TYPE_CHECKING:
    from lab.cloud.aws.moto_ec2 import LabEc2

MOST_PROTECTED = 50
"""Largest number of instances in one ``SetInstanceProtection`` (Auto Scaling API)."""
MOST_ENDED = 100
"""Largest number of instances in one ``TerminateInstanceInAutoScalingGroup`` (Auto Scaling API, ``InstanceIds``)."""


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
        """Update a group, including its capacity rebalancing, which moto ignores."""
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
        Scaling API, ``SetInstanceProtection``). moto ignores instances of other groups, and ends no instances."""
        group = self._kept(group_name)
        if len(instance_ids) > MOST_PROTECTED:
            raise ValidationError(f"The lab takes {MOST_PROTECTED} instances at most, as AWS does")
        _check_members(group, instance_ids)
        super().set_instance_protection(group_name, instance_ids, protected_from_scale_in)
        group.follow(cause="an instance was taken out of service in response to a difference between desired and "
                     "actual capacity, shrinking the capacity")  # fmt: skip

    def delete_auto_scaling_group(self, group_name: str, *, force: bool = False) -> None:
        """Delete a group. Refuse while the group has instances, unless ``force`` is set. With ``force``, the group
        stays until its last instance has ended; moto forgets the group at once."""
        group = self.group(group_name)
        if group.instance_states and not force:
            text = (
                "You cannot delete an AutoScalingGroup while there are instances or pending Spot instance request(s) "
            )
            raise AutoscalingClientError("ResourceInUse", text + "still in the group.")
        group.drain()
        self._forget_drained()

    def ended(self, instance_id: str) -> None:
        """Forget an instance that is gone for good, and its group if the group was only waiting for this instance."""
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
        ``InstanceIds``); moto has no such action. AWS's documents say nothing about partial failures or the minimum
        size: here all instances end or none does, and the minimum size counts as for ``DetachInstances``."""
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
        """Detach instances, all of which must belong to the group. The group launches replacements unless its desired
        capacity is decremented (Auto Scaling API, ``DetachInstances``). moto ignores instances of other groups and the
        minimum size."""
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
