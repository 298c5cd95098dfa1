"""Resources to which policies limit some actions: auto scaling groups, for the actions that set their size or end one
of their instances (docs.aws.amazon.com, Service Authorization Reference, "Actions, resources, and condition keys for
Amazon EC2 Auto Scaling": both require ``autoScalingGroup`` and know ``aws:ResourceTag``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab.cloud.aws.account import AwsAccount
    from lab.cloud.aws.scaling_group import LabGroup


@dataclass(frozen=True, kw_only=True)
class ActionTarget:
    """One resource."""

    arn: str
    tags: Mapping[str, str]


def target_of(account: AwsAccount, region: str, action: str, form: Mapping[str, str]) -> ActionTarget | None:
    """Return the auto scaling group that a request changes; None for other actions, and when there is no such group."""
    groups = account.objects.scaling[region].groups() if region in account.objects.scaling else ()
    name, instance = form.get("AutoScalingGroupName"), form.get("InstanceId")
    match action:
        case "autoscaling:TerminateInstanceInAutoScalingGroup" if instance:
            matches = [group for group in groups if _holds(group, instance)]
        case "autoscaling:SetDesiredCapacity" | "autoscaling:TerminateInstanceInAutoScalingGroup":
            matches = [group for group in groups if group.name == name]
        case _:
            return None
    return next((ActionTarget(arn=group.arn, tags=_tags(group)) for group in matches), None)


def _holds(group: LabGroup, instance_id: str) -> bool:
    return any(state.instance.id == instance_id for state in group.instance_states)


def _tags(group: LabGroup) -> dict[str, str]:
    return {str(tag["Key"]): str(tag["Value"]) for tag in group.tags}
