"""With the real engine, what is in use is neither changed nor lost, and it is deleted when that is intended."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from components.control_plane.guard import DESTROY_VARIABLE
from lab import tools
from tests.components.guards.immutable_stack import Stack

pytestmark = pytest.mark.engine

RANGES = {"weu": "10.64.0.0/16", "use1": "10.65.0.0/16", "usw2": "10.66.0.0/16"}


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
    assert refused.count("Take that back. `supernet`: fixed for an environment's life") == 1
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

    # A network is replaced though nothing in the file changes: the immutable settings see nothing, the hook does.
    refused = stack.run("up", "--yes", "--skip-preview", "--replace", "**Network::dev-use1", fails=True)
    assert "dev-use1 must stay: everything is in it." in refused
    assert stack.names() == before

    refused = stack.run("destroy", "--yes", "--skip-preview", "--run-program", fails=True)
    assert "destroying dev was not confirmed" in refused
    # As after a first run that ended before the environment was complete.
    stack.run("state", "delete", "--yes", stack.urn("dev-guard"))
    refused = stack.run("destroy", "--yes", "--skip-preview", "--run-program", fails=True)
    assert "must stay" in refused
    assert stack.names() == before - {"dev-guard"}

    stack.run("destroy", "--yes", "--skip-preview", "--run-program", **{DESTROY_VARIABLE: "dev"})
    assert stack.resources() == []


def test_backups_stay_declared_and_are_kept_no_shorter(stack: Stack) -> None:
    key = "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"

    def declared(days: int) -> dict[str, Any]:
        return {**stack.environment, "backups": {"recipients": [key], "daily_days": days}}

    stack.up()
    stack.up(declared(30))
    stack.up(declared(40))
    before = stack.inputs()
    assert "backups.daily_days: 40 -> 30" in stack.up(declared(30), fails=True)
    assert "backups.daily_days: 40 -> none" in stack.up(fails=True)
    assert stack.inputs() == before
