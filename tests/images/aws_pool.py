"""A pool of the lab's AWS with one machine, one machine of another role, and proofs made as each of them makes its
own."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from unittest import mock

import requests
from node import proofs as node_proofs
from node.attest import ProofRequest

from tests.lab.cloud.aws.site import REGIONS, TRUST, Site
from tests.lab.cloud.conftest import Live, Source, running

POOL, STRANGERS = "pool", "strangers"


class AwsPool:
    """The machines, by their groups."""

    def __init__(self, site: Site) -> None:
        self.site = site
        site.pool(1, name=POOL)
        site.iam.create_role(RoleName="stranger", AssumeRolePolicyDocument=json.dumps(TRUST))
        profile = site.iam.create_instance_profile(InstanceProfileName="stranger")["InstanceProfile"]["Arn"]
        site.iam.add_role_to_instance_profile(InstanceProfileName="stranger", RoleName="stranger")
        template = site.template(name=STRANGERS, IamInstanceProfile={"Arn": profile})
        site.pool(1, name=STRANGERS, LaunchTemplate={"LaunchTemplateId": template, "Version": "1"})

    def machine(self, group: str = POOL) -> str:
        """Return the id of a group's instance."""
        return str(self._instance(group)["InstanceId"])

    def prove(self, asked: ProofRequest, *, group: str = POOL) -> Mapping[str, object]:
        """Return a proof as a machine makes it: the metadata service identifies the machine by the address that
        asks."""
        session = requests.Session()
        session.mount("http://", Source(self._instance(group)["PrivateIpAddress"]))

        def ask(url: str, *, headers: dict[str, str], method: str = "GET") -> str:
            answer = session.request(method, url, headers=headers, timeout=10)
            assert answer.status_code == 200, answer.text
            return answer.text

        with mock.patch.object(node_proofs, "ask", ask):
            return node_proofs.aws(asked, metadata=f"http://127.0.0.1:{self.site.live.ports['vpc']}")

    def _instance(self, group: str) -> dict[str, Any]:
        [found] = [one for one in self.site.instances() if _tags(one).get("aws:autoscaling:groupName") == group]
        return found


def _tags(instance: Mapping[str, Any]) -> dict[str, str]:
    return {tag["Key"]: tag["Value"] for tag in instance.get("Tags", [])}


@contextlib.contextmanager
def aws_pool(folder: Path) -> Iterator[AwsPool]:
    """Run the lab's AWS with these machines; this process reaches it by its real names."""
    with running(folder / "cloud", regions=REGIONS) as live:
        site = Site(live)
        runner = live.call(_serve(live, site))
        try:
            yield AwsPool(site)
        finally:
            live.call(runner.cleanup())


async def _serve(live: Live, site: Site) -> Any:
    return await live._listen("vpc", live.cloud.metadata_app(site.vpc), tls=False)
