"""The clouds' own interfaces, used without Pulumi, as by an autoscaler or a person with the vendor's SDK."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any

from tests.support.project import REPOSITORY, Project, caller_variables

REGION = "us-east-1"

_SERVER = """
import json, sys
import boto3
clients = {}
for line in sys.stdin:
    service, region, method, arguments = json.loads(line)
    try:
        if (service, region) not in clients:
            clients[service, region] = boto3.client(service, region_name=region)
        answer = {"value": getattr(clients[service, region], method)(**arguments)}
    except Exception as error:
        answer = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps(answer, default=str), flush=True)
"""


class _Caller:
    """A process that makes calls of boto3 with the operator's credentials. One serves all calls of a lab, for to import
    boto3 takes a second of processor, and tests ask until something has come about. It ends with its lab, as all that
    ``enter`` starts, or with the tests."""

    def __init__(self, state: Path) -> None:
        self._command = [str(state / "enter"), sys.executable, "-c", _SERVER]
        self._process: subprocess.Popen[str] | None = None
        self._lock = Lock()

    def call(self, *words: Any) -> dict[str, Any]:
        """Return the answer to one call; AssertionError with boto3's error."""
        with self._lock:
            answer = json.loads(self._ask(json.dumps(words)))
        if "error" in answer:
            raise AssertionError(f"{words}: {answer['error']}")
        return dict(answer["value"])

    def _ask(self, line: str) -> str:
        if self._process is not None and self._process.poll() is not None:
            with self._process:
                self._process = None
        if self._process is None:
            pipe = subprocess.PIPE
            variables = caller_variables()
            self._process = subprocess.Popen(
                self._command, stdin=pipe, stdout=pipe, text=True, cwd=REPOSITORY, env=variables
            )
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer, f"{self._command[0]} ended"
        return answer


@cache
def _caller(state: Path) -> _Caller:
    return _Caller(state)


def aws(project: Project, service: str, method: str, **arguments: Any) -> dict[str, Any]:
    """Make one call of boto3 with the operator's credentials."""
    return _caller(project.state).call(service, REGION, method, arguments)


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
