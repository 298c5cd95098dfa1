"""The clouds' own interfaces, used without Pulumi, as by an autoscaler or a person with the vendor's SDK."""

from __future__ import annotations

import json
import sys
from typing import Any

from tests.support.project import Project, run

REGION = "us-east-1"

_CALL = """
import json, sys
import boto3
service, region, method, arguments = json.loads(sys.argv[1])
answer = getattr(boto3.client(service, region_name=region), method)(**arguments)
print(json.dumps(answer, default=str))
"""


def aws(project: Project, service: str, method: str, **arguments: Any) -> dict[str, Any]:
    """Make one call of boto3 with the operator's credentials."""
    call = json.dumps([service, REGION, method, arguments])
    return dict(json.loads(run([str(project.state / "enter"), sys.executable, "-c", _CALL, call]).stdout))


def resize(project: Project, group: str, size: int) -> None:
    """Set a group's size. Surplus machines are ended by their ids, as an autoscaler does: Longhaul's groups protect
    theirs from scale-in, so that a lower desired capacity alone ends none."""
    found = _group(project, group)
    desired = found["DesiredCapacity"]
    for machine in [item for item in found["Instances"] if not item["LifecycleState"].startswith("Terminat")][size:]:
        aws(
            project,
            "autoscaling",
            "terminate_instance_in_auto_scaling_group",
            InstanceId=machine["InstanceId"],
            ShouldDecrementDesiredCapacity=desired > size,
        )
        desired -= 1
    aws(project, "autoscaling", "set_desired_capacity", AutoScalingGroupName=group, DesiredCapacity=size)


def instances(project: Project, group: str) -> list[str]:
    """Return the ids of a group's instances in service."""
    listed = _group(project, group)["Instances"]
    return sorted(item["InstanceId"] for item in listed if item["LifecycleState"] == "InService")


def _group(project: Project, name: str) -> dict[str, Any]:
    found = aws(project, "autoscaling", "describe_auto_scaling_groups", AutoScalingGroupNames=[name])
    return dict(found["AutoScalingGroups"][0])
