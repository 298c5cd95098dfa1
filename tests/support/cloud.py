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


def set_desired_capacity(project: Project, group: str, capacity: int) -> None:
    """Set a group's size, as an autoscaler does."""
    aws(project, "autoscaling", "set_desired_capacity", AutoScalingGroupName=group, DesiredCapacity=capacity)


def instances(project: Project, group: str) -> list[str]:
    """Return the ids of a group's instances in service."""
    found = aws(project, "autoscaling", "describe_auto_scaling_groups", AutoScalingGroupNames=[group])
    listed = found["AutoScalingGroups"][0]["Instances"]
    return sorted(item["InstanceId"] for item in listed if item["LifecycleState"] == "InService")
