"""Machines of an AWS site: the instances of its pools' Auto Scaling groups."""

from __future__ import annotations

import urllib.parse
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime

from join_endpoint.web import SourceError, fetch
from machine import sigv4

from contract.documents.node_controller import NodeEnvironment, NodeSite
from controller.identity import AssumedRole
from controller.inventory import Machine, State

VERSION = "2016-11-15"

PAGE = 1000
"""Largest number of instances in one answer (docs.aws.amazon.com, "DescribeInstances")."""

VALUES = 200
"""Largest number of values in one filter (same page)."""

GROUP_TAG = "aws:autoscaling:groupName"
"""Tag with the name of an instance's Auto Scaling group. AWS writes it and lets nobody else write tags with this
prefix."""

STATES = {
    "pending": State.THERE,
    "running": State.THERE,
    "stopping": State.THERE,
    "stopped": State.THERE,
    "shutting-down": State.ENDING,
    "terminated": State.ENDED,
}


class AwsMachines:
    """Reads the instances of one site, which are tagged with the environment and the site."""

    def __init__(
        self,
        environment: NodeEnvironment,
        site: NodeSite,
        *,
        role: AssumedRole,
        endpoint: str = "",
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.site = site.name
        self._region, self._role, self._now = site.region, role, now
        self._url = endpoint or f"https://ec2.{site.region}.amazonaws.com/"
        self._tags = {"longhaul-environment": environment.name, "longhaul-site": site.name}
        self._pools = {pool.group: pool.name for pool in environment.pools_of(site.name)}

    def everything(self) -> Mapping[str, Machine]:
        """Return every instance of the site's pools; EC2 lists a terminated one for about an hour."""
        return {machine.name: machine for machine in self._describe({})}

    def some(self, names: Iterable[str]) -> Mapping[str, Machine]:
        """Return the instances with these ids."""
        ids = [name for name in names if name.startswith("i-")]
        machines: dict[str, Machine] = {}
        for start in range(0, len(ids), VALUES):
            chosen = self._describe({"instance-id": ids[start : start + VALUES]})
            machines |= {machine.name: machine for machine in chosen}
        return machines

    def _describe(self, filters: Mapping[str, list[str]]) -> Iterator[Machine]:
        wanted = {**{f"tag:{key}": [value] for key, value in self._tags.items()}, **filters}
        form = {"Action": "DescribeInstances", "Version": VERSION, "MaxResults": str(PAGE)}
        for number, (key, values) in enumerate(wanted.items(), 1):
            form[f"Filter.{number}.Name"] = key
            form |= {f"Filter.{number}.Value.{index}": value for index, value in enumerate(values, 1)}
        while True:
            answer = self._call(form)
            for instance in answer.findall("reservationSet/item/instancesSet/item"):
                machine = self._machine(instance)
                if machine is not None:
                    yield machine
            follow = answer.findtext("nextToken")
            if not follow:
                return
            form["NextToken"] = follow

    def _call(self, form: Mapping[str, str]) -> ET.Element:
        what = f"{form['Action']} in {self._region}"
        body = urllib.parse.urlencode(form).encode()
        credentials = self._role.credentials()
        headers = sigv4.headers(
            self._url, body, region=self._region, service="ec2", credentials=credentials, now=self._now()
        )
        try:
            root = ET.fromstring(fetch(self._url, what=what, method="POST", headers=headers, body=body))  # noqa: S314
        except ET.ParseError as error:
            raise SourceError(f"{what}: the answer is not XML: {error}") from None
        for element in root.iter():
            element.tag = element.tag.rpartition("}")[2]
        if root.tag != f"{form['Action']}Response" or root.find("reservationSet") is None:
            raise SourceError(f"{what}: the answer is not one of EC2")
        return root

    def _machine(self, instance: ET.Element) -> Machine | None:
        tags = {item.findtext("key", ""): item.findtext("value", "") for item in instance.findall("tagSet/item")}
        pool = self._pools.get(tags.get(GROUP_TAG, ""))
        if pool is None:
            return None
        address = instance.findtext("privateIpAddress")
        name = instance.findtext("instanceId", "")
        return Machine(
            name=name,
            identity=name,
            site=self.site,
            pool=pool,
            zone=instance.findtext("placement/availabilityZone", ""),
            addresses=frozenset([address] if address else []),
            # An unknown state must not let a machine be forgotten.
            state=STATES.get(instance.findtext("instanceState/name", ""), State.THERE),
        )
