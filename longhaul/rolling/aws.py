"""A pool on AWS: an auto scaling group. Fields and errors: docs.aws.amazon.com, Auto Scaling API,
``DescribeAutoScalingGroups`` and ``TerminateInstanceInAutoScalingGroup``.

Not by an instance refresh: that ends instances by health and time alone, and knows neither what runs on them nor when
it has reached a checkpoint.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

from clouds.aws.session import AwsError, asked, shared
from longhaul.rolling.cloud import CloudError, Group, Life, Machine

LIVES = {"Terminat": Life.GOING, "Pending": Life.CHANGING, "ReplacingRootVolume": Life.CHANGING}
"""How the names of states begin."""


class AwsGroup:
    """An auto scaling group. Its machines are ended one by one and it makes others by itself, at the same size."""

    in_place = False

    def __init__(self, name: str, *, region: str, client: Callable[[str], Any] | None = None) -> None:
        """``client`` makes the SDK's client of a service."""
        self._name, self._region = name, region
        self._client = client or partial(shared().client, region=region)

    def look(self) -> Group:
        """One call for all machines, and another where the group does not name its template's version."""
        with self._asked("what it is"):
            found = self._client("autoscaling").describe_auto_scaling_groups(AutoScalingGroupNames=[self._name])
            if not found["AutoScalingGroups"]:
                raise CloudError(
                    f"AWS {self._region} has no auto scaling group {self._name}: `longhaul up` makes it", passing=False
                )
            group = found["AutoScalingGroups"][0]
            template, version = self._template(group)
        return Group(
            target=f"{template}:{version}",
            wanted=int(group["DesiredCapacity"]),
            machines=tuple(machines(group, template, version)),
        )

    def replace(self, machine: Machine) -> None:
        """End it; the group makes another one from what it now makes them from."""
        with self._asked(f"the end of {machine.id}"):
            self._client("autoscaling").terminate_instance_in_auto_scaling_group(
                InstanceId=machine.id, ShouldDecrementDesiredCapacity=False
            )

    def rebuild(self, machine: Machine) -> None:
        """There is no such step here."""
        raise NotImplementedError(f"{machine.id}: AWS makes another machine, and nothing of an old one anew")

    def remake(self, machine: Machine) -> None:
        """The same as :meth:`replace`."""
        self.replace(machine)

    def _template(self, group: Mapping[str, Any]) -> tuple[str, str]:
        """Id and version of the launch template that the group's next machine is made from."""
        named = group.get("LaunchTemplate")
        if not named:
            raise CloudError(
                f"auto scaling group {self._name} names no launch template, so nothing says which machines are old: "
                "`longhaul up` puts it right",
                passing=False,
            )
        template, version = str(named["LaunchTemplateId"]), str(named.get("Version") or "$Default")
        if not version.startswith("$"):
            return template, version
        described = self._client("ec2").describe_launch_templates(LaunchTemplateIds=[template])
        key = "LatestVersionNumber" if version == "$Latest" else "DefaultVersionNumber"
        return template, str(described["LaunchTemplates"][0][key])

    @contextmanager
    def _asked(self, what: str) -> Iterator[None]:
        """Turn what the SDK raises into :class:`CloudError`."""
        try:
            with asked(f"AWS {self._region}, {self._name}, {what}"):
                yield
        except AwsError as error:
            raise CloudError(str(error), passing=error.passing) from None


def machines(group: Mapping[str, Any], template: str, version: str) -> Iterator[Machine]:
    """The group's instances. States: docs.aws.amazon.com, "Amazon EC2 Auto Scaling instance lifecycle"."""
    for item in group.get("Instances", []):
        made_from = item.get("LaunchTemplate") or {}
        state = str(item.get("LifecycleState", ""))
        aside = "Standby" in state or state.startswith("Detach")
        yield Machine(
            id=str(item["InstanceId"]),
            node=str(item["InstanceId"]),
            current=(made_from.get("LaunchTemplateId"), str(made_from.get("Version"))) == (template, version),
            life=next((life for start, life in LIVES.items() if state.startswith(start)), Life.THERE),
            held=f"AWS has it as {state}" if aside else "",
        )
