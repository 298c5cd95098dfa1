"""The real engine: plans of the most frequent changes of production, and of a cloud that an environment leaves.

By hand: change a copy of `examples/Pulumi.prod.yaml` and run `longhaul plan --env prod --base FILE --format markdown`,
where the backend has the stack and FILE is the copy of before.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from components.model import load
from lab import tools
from longhaul.terminal.exits import Exit
from tests.longhaul.conftest import Checkout
from tests.longhaul.judgement.made import resources
from tests.support.hosts import stack_file
from tests.support.project import REPOSITORY

pytestmark = pytest.mark.engine

Raw = dict[str, Any]
PREVIEW = ("preview", "--json", "--show-sames", "--suppress-outputs")


@dataclass(frozen=True, kw_only=True)
class Made:
    """A project with an environment of the tree; its stack is as `longhaul up` would have left it."""

    checkout: Checkout
    env: str

    @property
    def file(self) -> Path:
        return self.checkout.path / "stacks" / f"Pulumi.{self.env}.yaml"

    def engine(self, *words: str, given: str | None = None) -> str:
        """Run plain `pulumi` with the lab's plugins and return its output."""
        variables = self.checkout.variables()
        folders = [
            REPOSITORY / "lab/providers/bin",
            Path(sys.executable).parent,
            Path(variables["LONGHAUL_PULUMI"]).parent,
        ]
        variables["PATH"] = os.pathsep.join([*map(str, folders), variables["PATH"]])
        command = ["pulumi", *words, "--stack", self.env]
        done = subprocess.run(
            command, cwd=self.checkout.path, env=variables, input=given, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr
        return done.stdout

    def plan(self, change: Callable[[Raw], None]) -> tuple[int, dict[str, Any]]:
        """Return exit code and plan of a change of the file, which is restored afterwards."""
        before = self.file.read_text(encoding="utf-8")
        base = self.checkout.path / "base"
        shutil.copytree(self.checkout.path / "stacks", base, dirs_exist_ok=True)
        content = yaml.safe_load(before)
        change(content["config"]["longhaul:environment"])
        self.file.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
        try:
            words = ("--env", self.env, "--base", str(base / self.file.name), "--format", "json")
            done = self.checkout.run("plan", *words)
        finally:
            self.file.write_text(before, encoding="utf-8")
        assert done.returncode in (Exit.OK, Exit.REFUSED), done.stderr
        return done.returncode, json.loads(done.stdout)


def made(folder: Path, env: str) -> Made:
    for name in ("home", "backend", "project/stacks"):
        (folder / name).mkdir(parents=True)
    checkout = Checkout(path=folder / "project", home=folder / "home", repository=REPOSITORY)
    shutil.copy(REPOSITORY / "Pulumi.yaml", checkout.path)
    source = stack_file(env)
    for path in (REPOSITORY / "stacks" / "__main__.py", source, source.with_name(f"hosts.{env}.yaml")):
        shutil.copy(path, checkout.path / "stacks")
    found = tools.ensure(["pulumi"], log_dir=REPOSITORY / ".lab" / "log", progress=print)
    checkout.environ |= {"LONGHAUL_PULUMI": str(found["pulumi"]), "PULUMI_CONFIG_PASSPHRASE": "lab"}
    one = Made(checkout=checkout, env=env)
    one.engine("stack", "init", "--no-select")
    preview = json.loads(one.engine(*PREVIEW))
    state = json.loads(one.engine("stack", "export"))
    state["deployment"]["resources"] = resources(preview, load(one.file))
    one.engine("stack", "import", given=json.dumps(state))
    return one


@pytest.fixture(name="production", scope="module")
def _production(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return made(tmp_path_factory.mktemp("production"), "prod")


def nothing(_: Raw) -> None:
    """Change nothing: only if this plan is empty is the made state as the program declares it, and the other plans
    valid."""


def pool_size(raw: Raw) -> None:
    raw["pools"]["h100"]["max"] = 160


def security_rule(raw: Raw) -> None:
    """Change the operators' addresses, which the vault's rules follow: no setting is a single security rule."""
    raw["access"]["operators"].append("203.0.113.160/28")


def machines(raw: Raw) -> None:
    """Change what the API servers and the members are made of, besides the operators' addresses."""
    security_rule(raw)
    raw["versions"] = {"kubernetes": "1.36.2"}
    raw["control_plane"]["etcd"]["machine_type"] = "Standard_L32s_v3"


def supernet(raw: Raw) -> None:
    raw["supernet"] = "172.16.0.0/12"


RULES = "The vault prod-control-plane-vault changes."
SERVERS = "5 of 5 API servers are replaced, one at a time."
MEMBERS = "5 of 5 members of the etcd cluster etcd are replaced, one"


@pytest.mark.parametrize(
    ("change", "verdict", "counts", "said"),
    [
        (nothing, "safe", set(), ()),
        (pool_size, "safe", {"change"}, ()),
        (machines, "needs care", {"change", "replace"}, (RULES, SERVERS, MEMBERS)),
        (supernet, "refused", {"change", "replace"}, ("supernet: 10.0.0.0/10 -> 172.16.0.0/12",)),
    ],
)
def test_a_change_of_production(
    change: Callable[[Raw], None], verdict: str, counts: set[str], said: tuple[str, ...], production: Made
) -> None:
    code, plan = production.plan(change)
    assert (plan["verdict"], set(plan["counts"])) == (verdict, counts), plan["reasons"]
    assert code == (Exit.REFUSED if verdict == "refused" else Exit.OK)
    reasons = "\n".join(reason["what"] for reason in plan["reasons"])
    assert [words for words in said if words not in reasons] == []
    if change is machines:
        assert replaced(plan) == {f"prod-{role}-{index}" for role in ("api", "etcd") for index in range(5)}


def replaced(plan: dict[str, Any]) -> set[str]:
    """Return the names of the machines that are replaced, if nothing else is."""
    resources = [one for place in plan["places"] for one in place["resources"] if one["action"] == "replace"]
    assert {one["type"] for one in resources} == {"azure-native:compute:VirtualMachine"}
    return {one["name"] for one in resources}


def test_a_cloud_that_is_left(tmp_path: Path) -> None:
    """No plugin of AWS is installed, no site of it exists any more, and the state has resources of it."""
    lab = made(tmp_path / "lab", "lab")

    def leave(raw: Raw) -> None:
        del raw["sites"]["use1"], raw["pools"]
        # Its block stays the same, although the site before it is removed.
        raw["sites"]["rack"]["range"] = "10.66.0.0/16"

    _, plan = lab.plan(leave)
    gone = {one["type"] for place in plan["places"] for one in place["resources"] if one["action"] == "destroy"}
    assert {"aws:ec2/vpc:Vpc", "aws:autoscaling/group:Group", "aws:ec2/vpnConnection:VpnConnection"} <= gone
    assert "The site use1 goes" in "\n".join(reason["what"] for reason in plan["reasons"])
