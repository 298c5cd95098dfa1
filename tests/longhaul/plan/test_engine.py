"""The real engine: the plan of an environment that does not exist yet."""

from __future__ import annotations

import json

import pytest

from clouds.base.resource_types import ResourceKind
from lab import tools
from longhaul.judgement.changes import read_changes
from longhaul.judgement.preview_document import read_document
from longhaul.judgement.resource_kinds import kind_of
from longhaul.terminal.exits import Exit
from tests.longhaul.conftest import Checkout
from tests.support.project import REPOSITORY

pytestmark = pytest.mark.engine

UNNAMED = {
    "azure-native:network:NetworkInterface",
    "aws:ec2/launchTemplate:LaunchTemplate",
    "aws:ec2/subnetCidrReservation:SubnetCidrReservation",
    "aws:ec2/vpcEndpoint:VpcEndpoint",
    "pulumi-python:dynamic/longhaul:Setting",
}
"""Types of the program without a kind of their own: they belong to a machine, a pool or a network, or tell machines
something."""


def test_a_new_environment(checkout: Checkout) -> None:
    found = tools.ensure(["pulumi"], log_dir=REPOSITORY / ".lab" / "log", progress=print)
    checkout.gains_hosts()
    program = (REPOSITORY / "stacks" / "__main__.py").read_text(encoding="utf-8")
    (checkout.path / "stacks" / "__main__.py").write_text(program, encoding="utf-8")
    checkout.environ |= {"LONGHAUL_PULUMI": str(found["pulumi"]), "PULUMI_BACKEND_URL": ""}
    done = checkout.run("plan", "--env", "dev", "--format", "json")
    assert done.returncode == Exit.OK, done.stderr
    plan = json.loads(done.stdout)
    assert (plan["verdict"], set(plan["counts"])) == ("needs care", {"make"})
    assert {key.split(".")[0] for reason in plan["reasons"] for key in reason["where"]} == {"sites"}, "risks alone"
    places = {(place["site"], place["kind"], place["part"]) for place in plan["places"]}
    assert {("weu", "machine", "dev-etcd-0"), ("use1", "pool", "cpu"), ("links", "link", "weu-rack")} <= places
    assert {site for site, _, _ in places} == {"the environment", "weu", "use1", "links"}
    steps = [
        {"op": "delete", "urn": one["urn"], "oldState": {"custom": not one["component"]}}
        for place in plan["places"]
        for one in place["resources"]
    ]
    resources = read_changes([read_document(json.dumps({"steps": steps}), source="the plan")]).changes
    assert {change.type for change in resources if kind_of(change) is ResourceKind.OTHER} == UNNAMED
