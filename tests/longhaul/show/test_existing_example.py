"""An environment on a company's existing parts: the example of docs/existing.md."""

from __future__ import annotations

import json
import re
import shutil

import pytest
import yaml

from lab import tools
from longhaul.terminal.exits import Exit
from tests.longhaul.conftest import Checkout
from tests.support.project import REPOSITORY

NAMED = {
    "azure-native:resources:ResourceGroup",
    "azure-native:network:VirtualNetwork",
    "azure-native:network:Subnet",
    "azure-native:network:NatGateway",
    "azure-native:network:PublicIPAddress",
    "azure-native:network:VirtualNetworkGateway",
    "azure-native:privatedns:PrivateZone",
    "aws:ec2/vpc:Vpc",
    "aws:ec2/subnet:Subnet",
    "aws:ec2/routeTable:RouteTable",
    "aws:ec2/internetGateway:InternetGateway",
    "aws:ec2/natGateway:NatGateway",
    "aws:ec2/vpnGateway:VpnGateway",
}
"""Types of the parts that the example names."""


def takes_the_example(checkout: Checkout) -> None:
    """Put the example's file in the place of the test's own."""
    text = (REPOSITORY / "docs" / "existing.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"^```yaml\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    stacks = checkout.path / "stacks"
    name = yaml.safe_load(example)["config"]["longhaul:environment"]["name"]
    (stacks / f"Pulumi.{name}.yaml").write_text(example, encoding="utf-8")
    checkout.stack_file.unlink()


@pytest.mark.parametrize("words", [("validate",), ("show",), ("show", "--json"), ("show", "--format", "svg")])
def test_commands_that_need_the_file_alone(checkout: Checkout, words: tuple[str, ...]) -> None:
    takes_the_example(checkout)
    done = checkout.run(*words, "--env", "corp")
    assert done.returncode == Exit.OK, done.stderr


@pytest.mark.parametrize("words", [("validate",), ("validate", "--env", "corp"), ("show", "--env", "corp")])
def test_it_stands_beside_the_stack_files_that_longhaul_comes_with(checkout: Checkout, words: tuple[str, ...]) -> None:
    takes_the_example(checkout)
    shutil.copytree(REPOSITORY / "stacks", checkout.path / "stacks", dirs_exist_ok=True)
    assert {"Pulumi.lab.yaml", "Pulumi.twin.yaml"} <= {path.name for path in (checkout.path / "stacks").iterdir()}
    done = checkout.run(*words)
    assert done.returncode == Exit.OK, done.stderr


def test_show_tells_what_it_will_be_called(checkout: Checkout) -> None:
    takes_the_example(checkout)
    names = json.loads(checkout.run("show", "--env", "corp", "--json").stdout)["names"]
    assert {one["pool"]: one["name"] for one in names if one["pool"]} == {"cpu": "acme-corp-cpu"}
    assert {one["name"] for one in names if one["existing"]} == {
        "rg-training",
        "vnet-training",
        "vpc-0123456789abcdef0",
    }


def test_show_tells_what_is_is_there_already(checkout: Checkout) -> None:
    takes_the_example(checkout)
    shown = checkout.run("show", "--env", "corp").stdout
    words = " ".join(shown.split())
    assert (
        "weu existing: resource group, network, subnets gateway, etcd, events, api and nodes, DNS zone, VPN g" in words
    )
    assert "use1 existing: VPC, node subnets a and b, VPN gateway" in words


@pytest.mark.engine
def test_what_is_named_is_not_made(checkout: Checkout) -> None:
    takes_the_example(checkout)
    found = tools.ensure(["pulumi"], log_dir=REPOSITORY / ".lab" / "log", progress=print)
    program = (REPOSITORY / "stacks" / "__main__.py").read_text(encoding="utf-8")
    (checkout.path / "stacks" / "__main__.py").write_text(program, encoding="utf-8")
    checkout.environ |= {"LONGHAUL_PULUMI": str(found["pulumi"]), "PULUMI_BACKEND_URL": ""}
    done = checkout.run("plan", "--env", "corp", "--format", "json")
    assert done.returncode == Exit.OK, done.stderr
    plan = json.loads(done.stdout)
    assert plan["verdict"] == "needs care", "rules that are new in a network that others use"
    types = {one["urn"].split("::")[2].rpartition("$")[2] for place in plan["places"] for one in place["resources"]}
    assert {"azure-native:network:NetworkSecurityGroup", "aws:ec2/vpnConnection:VpnConnection"} <= types
    assert not NAMED & types
