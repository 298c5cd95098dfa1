"""Auto scaling groups."""

from __future__ import annotations

import json
from typing import Any

from lab.providers.aws_calls import AwsResourceType, Call, code_of, missing
from lab.providers.aws_templates import flag

GROUP_SETTINGS = {
    "minSize": "MinSize",
    "maxSize": "MaxSize",
    "desiredCapacity": "DesiredCapacity",
    "healthCheckType": "HealthCheckType",
    "healthCheckGracePeriod": "HealthCheckGracePeriod",
    "capacityRebalance": "CapacityRebalance",
    "protectFromScaleIn": "NewInstancesProtectedFromScaleIn",
}
DELETE_S = 600.0
"""Seconds that a group's deletion may take: the default of terraform-provider-aws (internal/service/autoscaling/
group.go, ``Timeouts``)."""
MOST_PROTECTED = 50
"""Largest number of instances in one ``SetInstanceProtection`` (Auto Scaling API)."""
_BUSY = ("ResourceInUse", "ScalingActivityInProgress", "ResourceInUseFault", "ScalingActivityInProgressFault")


def group_kinds() -> tuple[AwsResourceType, ...]:
    """Return the resource types of this table."""
    return (
        AwsResourceType(
            type="aws:autoscaling/group:Group",
            inputs=f"name vpcZoneIdentifiers launchTemplate suspendedProcesses waitForCapacityTimeout forceDelete tags "
            f"{' '.join(GROUP_SETTINGS)}",
            forced="name",
            create=_create_group,
            look=lambda call: _group(call, call.id),
            outputs=_group_outputs,
            update=_update_group,
            delete=_delete_group,
            delete_s=DELETE_S,
            find=lambda call: [call.inputs["name"]] if _group(call, call.inputs["name"]) else [],
        ),
    )


def _group_settings(call: Call) -> dict[str, Any]:
    inputs = call.inputs
    settings = {key: inputs[name] for name, key in GROUP_SETTINGS.items() if inputs.get(name) is not None}
    settings["VPCZoneIdentifier"] = ",".join(inputs["vpcZoneIdentifiers"])
    template = inputs["launchTemplate"]
    names = {"id": "LaunchTemplateId", "name": "LaunchTemplateName", "version": "Version"}
    chosen = ("id", "version") if template.get("id") else ("name", "version")
    settings["LaunchTemplate"] = {names[name]: template[name] for name in chosen if template.get(name)}
    return settings


def _group_tags(call: Call, given: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {
            "ResourceId": call.inputs["name"],
            "ResourceType": "auto-scaling-group",
            "Key": item["key"],
            "Value": item["value"],
            "PropagateAtLaunch": flag(item["propagateAtLaunch"]),
        }
        for item in given
    ]


def _create_group(call: Call) -> str:
    name = call.inputs["name"]
    call.autoscaling.create_auto_scaling_group(
        AutoScalingGroupName=name, Tags=_group_tags(call, call.inputs.get("tags", [])), **_group_settings(call)
    )
    call.id = str(name)
    if call.inputs.get("suspendedProcesses"):
        call.autoscaling.suspend_processes(
            AutoScalingGroupName=name, ScalingProcesses=call.inputs["suspendedProcesses"]
        )
    _await_capacity(call)
    return call.id


def _await_capacity(call: Call) -> None:
    if call.inputs.get("waitForCapacityTimeout") in ("0", "0s", 0):
        return
    wanted = call.inputs.get("desiredCapacity") or call.inputs.get("minSize") or 0

    def enough() -> bool | None:
        instances = (_group(call, call.id) or {}).get("Instances", [])
        return len([item for item in instances if item["LifecycleState"] == "InService"]) >= wanted or None

    call.until(enough, f"{wanted} instances of {call.id}")


def _update_group(call: Call) -> None:
    settings = _group_settings(call)
    if not call.changed("desiredCapacity"):
        settings.pop("DesiredCapacity", None)
    call.autoscaling.update_auto_scaling_group(AutoScalingGroupName=call.id, **settings)
    _change_tags(call)
    before, after = set(call.old.get("suspendedProcesses") or []), set(call.inputs.get("suspendedProcesses") or [])
    if before - after:
        call.autoscaling.resume_processes(AutoScalingGroupName=call.id, ScalingProcesses=sorted(before - after))
    if after - before:
        call.autoscaling.suspend_processes(AutoScalingGroupName=call.id, ScalingProcesses=sorted(after - before))


def _change_tags(call: Call) -> None:
    wanted = _group_tags(call, call.inputs.get("tags", []))
    keys = {item["Key"] for item in wanted}
    gone = [item for item in _group_tags(call, call.old.get("tags") or []) if item["Key"] not in keys]
    if gone:
        call.autoscaling.delete_tags(Tags=gone)
    if wanted and call.changed("tags"):
        call.autoscaling.create_or_update_tags(Tags=wanted)


def _group(call: Call, name: str) -> dict[str, Any] | None:
    answer = call.autoscaling.describe_auto_scaling_groups(AutoScalingGroupNames=[name])
    return next(iter(answer["AutoScalingGroups"]), None)


def _group_outputs(call: Call, described: dict[str, Any]) -> dict[str, Any]:
    template = described.get("LaunchTemplate") or {}
    tags = [
        {"key": item["Key"], "value": item["Value"], "propagateAtLaunch": item["PropagateAtLaunch"]}
        for item in described.get("Tags", [])
    ]
    known = call.old or call.inputs
    return {
        "arn": described["AutoScalingGroupARN"],
        "name": described["AutoScalingGroupName"],
        "minSize": described["MinSize"],
        "maxSize": described["MaxSize"],
        "desiredCapacity": described["DesiredCapacity"],
        "availabilityZones": sorted(set(described["AvailabilityZones"])),
        "capacityRebalance": bool(described.get("CapacityRebalance", False)),
        "healthCheckType": described["HealthCheckType"],
        "protectFromScaleIn": bool(described.get("NewInstancesProtectedFromScaleIn", False)),
        "launchTemplate": {
            "id": template.get("LaunchTemplateId", ""),
            "name": template.get("LaunchTemplateName", ""),
            "version": template.get("Version", ""),
        },
        # The API has sets; the order is the program's.
        "vpcZoneIdentifiers": _ordered(described["VPCZoneIdentifier"].split(","), known.get("vpcZoneIdentifiers")),
        "suspendedProcesses": _ordered(
            [item["ProcessName"] for item in described.get("SuspendedProcesses", [])], known.get("suspendedProcesses")
        ),
        "tags": _ordered(tags, known.get("tags")),
    }


def _ordered(described: list[Any], known: Any) -> list[Any]:
    same = isinstance(known, list) and sorted(described, key=_text) == sorted(known, key=_text)
    return list(known) if same else sorted(described, key=_text)


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _delete_group(call: Call) -> None:
    """Delete a group as the real plugin does. Unless ``forceDelete`` is set, first shrink the group to 0, lift the
    protection of its instances, and wait for the instances to end (group.go, ``drainGroup``)."""
    name = call.id
    force = bool(call.old.get("forceDelete"))
    try:
        if not force:
            _drain(call, (_group(call, name) or {}).get("Instances", []))
        call.retried(
            _BUSY,
            lambda: call.autoscaling.delete_auto_scaling_group(AutoScalingGroupName=name, ForceDelete=force),
            f"deleting {name}",
        )
    except Exception as problem:
        if not missing(problem) and not (code_of(problem) == "ValidationError" and "not found" in str(problem)):
            raise
    call.until(lambda: _group(call, name) is None or None, f"{name} to be gone")


def _drain(call: Call, instances: list[dict[str, Any]]) -> None:
    name = call.id
    call.autoscaling.update_auto_scaling_group(AutoScalingGroupName=name, MinSize=0, MaxSize=0, DesiredCapacity=0)
    protected = [instance["InstanceId"] for instance in instances if instance["ProtectedFromScaleIn"]]
    for first in range(0, len(protected), MOST_PROTECTED):
        call.autoscaling.set_instance_protection(
            AutoScalingGroupName=name,
            InstanceIds=protected[first : first + MOST_PROTECTED],
            ProtectedFromScaleIn=False,
        )
    call.until(lambda: not (_group(call, name) or {}).get("Instances") or None, f"the instances of {name} to end")
