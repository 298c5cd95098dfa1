"""Machines of an AWS site: the instances of its pools' auto scaling groups."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from clouds.aws.session import AwsError, aws_errors, shared
from clouds.base.machine_lists import ListedMachine, MachineList, Presence
from contract.documents.node_controller import NodeEnvironment, NodeSite
from contract.tag_keys import ENVIRONMENT, SITE

PAGE = 1000
"""Largest number of instances in one answer (docs.aws.amazon.com, "DescribeInstances")."""
VALUES = 200
"""Largest number of values in one filter (same page)."""
GROUP_TAG = "aws:autoscaling:groupName"
"""Tag with the name of an instance's auto scaling group. AWS writes it and lets nobody else write tags with this
prefix."""
PRESENCES = {
    "pending": Presence.THERE,
    "running": Presence.THERE,
    "stopping": Presence.THERE,
    "stopped": Presence.THERE,
    "shutting-down": Presence.ENDING,
    "terminated": Presence.ENDED,
}


class AwsMachineList(MachineList):
    """Instances of one site, which are tagged with the environment and the site."""

    def __init__(
        self, environment: NodeEnvironment, site: NodeSite, *, client: Callable[[], Any] | None = None
    ) -> None:
        """``client`` returns the SDK's client of EC2."""
        super().__init__(site.name)
        self._client = client or (lambda: shared().client("ec2", site.region))
        self._region = site.region
        self._tags = {ENVIRONMENT: environment.name, SITE: site.name}
        self._pools = {group: pool.name for pool in environment.pools_of(site.name) for group in pool.groups}

    def everything(self) -> Mapping[str, ListedMachine]:
        """Return every instance of the site's pools. EC2 lists terminated instances for about an hour."""
        return {machine.name: machine for machine in self._describe()}

    def some(self, names: Iterable[str]) -> Mapping[str, ListedMachine]:
        """Return the instances with these ids."""
        ids = [name for name in names if name.startswith("i-")]
        return {
            machine.name: machine
            for first in range(0, len(ids), VALUES)
            for machine in self._describe({"Name": "instance-id", "Values": ids[first : first + VALUES]})
        }

    def _describe(self, *filters: Mapping[str, Any]) -> list[ListedMachine]:
        what = f"AWS {self._region}, the instances of {self.site}"
        tagged = [{"Name": f"tag:{key}", "Values": [value]} for key, value in self._tags.items()]
        with aws_errors(what):
            pages = self._client().get_paginator("describe_instances")
            listed = list(pages.paginate(Filters=[*tagged, *filters], PaginationConfig={"PageSize": PAGE}))
        # The SDK turns an answer of another form into one without a list.
        if not all("Reservations" in page for page in listed):
            raise AwsError(f"{what}: the answer holds no list")
        return [machine for page in listed for machine in self._machines(page)]

    def _machines(self, page: Mapping[str, Any]) -> Iterator[ListedMachine]:
        instances = (item for reservation in page["Reservations"] for item in reservation.get("Instances") or ())
        yield from filter(None, map(self._machine, instances))

    def _machine(self, instance: Mapping[str, Any]) -> ListedMachine | None:
        tags = {tag["Key"]: tag["Value"] for tag in instance.get("Tags") or ()}
        pool = self._pools.get(tags.get(GROUP_TAG, ""))
        if pool is None:
            return None
        address, name = instance.get("PrivateIpAddress"), str(instance["InstanceId"])
        return ListedMachine(
            name=name,
            identity=name,
            site=self.site,
            pool=pool,
            zone=str((instance.get("Placement") or {}).get("AvailabilityZone") or ""),
            addresses=frozenset([str(address)] if address else []),
            # An unknown state must not let a machine be forgotten.
            presence=PRESENCES.get(str((instance.get("State") or {}).get("Name")), Presence.THERE),
        )
