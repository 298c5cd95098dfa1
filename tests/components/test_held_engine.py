"""The real engine: what is in use is neither changed nor lost, and goes when it is meant to."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from components.control_plane.guard import DESTROY_VARIABLE
from lab import tools
from longhaul.engine.locate import engine_environment
from tests.components.held_program import ENVIRONMENT, PARTS
from tests.support.project import REPOSITORY, hybrid

pytestmark = pytest.mark.engine

RANGES = {"weu": "10.64.0.0/16", "use1": "10.65.0.0/16", "usw2": "10.66.0.0/16"}


class Stack:
    """A project with one stack, made once."""

    def __init__(self, folder: Path, pulumi: Path) -> None:
        self._folder, self._pulumi = folder, pulumi
        (folder / "Pulumi.yaml").write_text("name: longhaul\nruntime: python\n")
        (folder / "__main__.py").write_text("from tests.components.held_program import main\n\nmain()\n")
        self.environment = hybrid("dev", supernet="10.64.0.0/12")
        sites = self.environment["sites"]
        sites["usw2"] = {**sites["use1"], "region": "us-west-2"}
        del sites["rack"], self.environment["pools"], self.environment["bare_metal"]
        self.write(self.environment)
        self.run("stack", "init", "dev")

    def write(self, raw: dict[str, Any]) -> None:
        (self._folder / ENVIRONMENT).write_text(json.dumps(raw))

    def run(self, *words: str, fails: bool = False, parts: str = "guards secret", confirmed: str = "") -> str:
        """What ``pulumi`` printed."""
        kept = {key: value for key, value in os.environ.items() if not key.startswith("PULUMI_")}
        environ = {
            **kept,
            "LONGHAUL_PULUMI": str(self._pulumi),
            "PULUMI_BACKEND_URL": f"file://{self._folder}",
            "PULUMI_CONFIG_PASSPHRASE": "lab",
            "PYTHONPATH": str(REPOSITORY),
            PARTS: parts,
            DESTROY_VARIABLE: confirmed,
        }
        done = subprocess.run(
            [str(self._pulumi), *words, "--color", "never", "--non-interactive"],
            cwd=self._folder,
            env=engine_environment(environ),
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=1500,
            check=False,
        )
        assert (done.returncode != 0) == fails, done.stdout
        return done.stdout

    def up(self, raw: dict[str, Any] | None = None, *, fails: bool = False, parts: str = "guards secret") -> str:
        self.write(self.environment if raw is None else raw)
        return self.run("up", "--yes", "--skip-preview", fails=fails, parts=parts)

    def without(self, site: str) -> dict[str, Any]:
        """The environment without a site."""
        copy: dict[str, Any] = json.loads(json.dumps(self.environment))
        del copy["sites"][site]
        return copy

    def resources(self) -> list[dict[str, Any]]:
        exported = json.loads(self.run("stack", "export"))
        found: list[dict[str, Any]] = exported["deployment"].get("resources") or []
        return found

    def inputs(self) -> dict[str, Any]:
        """By name and when it was made, what each resource was made of."""
        return {f"{one['urn']} {one['created']}": one.get("inputs") for one in self.resources()}

    def names(self) -> set[str]:
        return {one["urn"].rpartition("::")[2] for one in self.resources()}

    def urn(self, name: str) -> str:
        (found,) = [str(one["urn"]) for one in self.resources() if one["urn"].endswith(f"::{name}")]
        return found

    def ranges(self) -> dict[str, str]:
        """By site, the range of its network."""
        networks = [one["inputs"] for one in self.resources() if one["type"].endswith(":Network")]
        return {inputs["tags"]["longhaul-site"]: inputs["range"] for inputs in networks}


@pytest.fixture(name="stack")
def _stack(tmp_path: Path) -> Stack:
    found = tools.ensure(["pulumi"], log_dir=tmp_path / "log", progress=print)
    return Stack(tmp_path, found["pulumi"])


def test_what_was_there_before_the_guards_gains_them_and_is_held(stack: Stack) -> None:
    stack.up(parts="secret")
    assert "+ 1 created" in stack.up(), "nothing is made anew or changed"
    assert stack.ranges() == RANGES
    before = stack.inputs()

    other = {**stack.environment, "supernet": "10.128.0.0/12"}
    stack.write(other)
    assert "3 to replace" in stack.run("preview"), "a preview only shows"
    refused = stack.up(other, fails=True)
    assert refused.count("supernet: 10.64.0.0/12 -> 10.128.0.0/12") == 1, "it is told once"
    assert refused.count("Take that back. `supernet`: for an environment's life") == 1
    assert stack.inputs() == before

    stack.write(stack.environment)
    stack.run("preview", "--expect-no-changes")


def test_a_site_goes_once_the_others_are_told_to_stay(stack: Stack) -> None:
    stack.up()
    smaller = stack.without("use1")
    refused = stack.up(smaller, fails=True)
    assert "`range: 10.66.0.0/16` into usw2" in refused
    assert stack.ranges() == RANGES

    smaller["sites"]["usw2"]["range"] = RANGES["usw2"]
    assert "- 1 deleted" in stack.up(smaller)
    assert stack.ranges() == {site: RANGES[site] for site in ("weu", "usw2")}

    back = {**smaller, "sites": {**smaller["sites"], "use1": {**stack.environment["sites"]["use1"], "prefix": 18}}}
    assert "+ 1 created" in stack.up(back), "under its old name at another place"
    assert stack.ranges()["use1"] != RANGES["use1"]


def test_what_lasts_stays_until_all_goes(stack: Stack) -> None:
    stack.up()
    before = stack.names()
    refused = stack.up(parts="guards", fails=True)
    assert "dev-encryption must stay: the vault's copy of it is the only one." in refused
    assert stack.names() == before

    # A network that is made anew though nothing in the file moves it: the facts know of nothing, the hook does.
    refused = stack.run("up", "--yes", "--skip-preview", "--replace", "**Network::dev-use1", fails=True)
    assert "dev-use1 must stay: everything is in it." in refused
    assert stack.names() == before

    refused = stack.run("destroy", "--yes", "--skip-preview", "--run-program", fails=True)
    assert "destroying dev was not confirmed" in refused
    # As after a first run that ended before the environment was whole.
    stack.run("state", "delete", "--yes", stack.urn("dev-guard"))
    refused = stack.run("destroy", "--yes", "--skip-preview", "--run-program", fails=True)
    assert "must stay" in refused
    assert stack.names() == before - {"dev-guard"}

    stack.run("destroy", "--yes", "--skip-preview", "--run-program", confirmed="dev")
    assert stack.resources() == []
