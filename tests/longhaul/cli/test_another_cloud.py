"""A cloud that nothing outside of its own class names is validated, shown, drawn and planned."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from longhaul.terminal.exits import Exit
from tests.longhaul.conftest import LIMIT_S, Checkout
from tests.longhaul.judgement.steps import stack, step, text

FLOCK = "nimbus:flocks:Flock"


@pytest.fixture(name="nimbus")
def _nimbus(checkout: Checkout) -> Checkout:
    """An environment with its control plane in Azure, and a site and a pool of another cloud."""
    write(checkout)
    return checkout


def write(checkout: Checkout, **site: Any) -> None:
    raw = checkout.environment()
    raw["sites"]["nim"] = {"kind": "nimbus", "region": "north-1", "image": "image-4", **site}
    raw["machine_types"] = {"lift-8": {"cloud": "nimbus", "vcpus": 8, "memory_gib": 64, "local_ssd_gb": 1000}}
    raw["pools"] = {"work": {"site": "nim", "machine_type": "lift-8", "min": 1, "max": 120}}
    checkout.write(raw)


def run(checkout: Checkout, *words: str, code: int = Exit.OK) -> str:
    """Run the command in a process of its own: this one has loaded the model without that cloud."""
    argv = [sys.executable, "-m", "tests.longhaul.cli.another_cloud", *words, "--env", "dev"]
    done = subprocess.run(
        argv, cwd=checkout.path, env=checkout.variables(), capture_output=True, text=True, timeout=LIMIT_S, check=False
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_its_file_is_validated(nimbus: Checkout) -> None:
    run(nimbus, "validate")
    write(nimbus, cloud_cover="much")
    assert "sites.nim.cloud_cover" in run(nimbus, "validate", code=Exit.USAGE)


def test_it_is_shown_and_drawn(nimbus: Checkout) -> None:
    shown = run(nimbus, "show")
    assert "Nimbus north-1" in shown
    assert "work" in shown
    run(nimbus, "show", "--output", "map.svg")
    assert "#7a3e9d" in (nimbus.path / "map.svg").read_text(encoding="utf-8")


def test_a_change_is_planned(nimbus: Checkout) -> None:
    made = step("create", FLOCK, "dev-work", after={"tags": {"longhaul-environment": "dev", "longhaul-site": "nim"}})
    (nimbus.path / "preview.json").write_text(text([stack("dev"), made]), encoding="utf-8")
    planned = run(nimbus, "plan", "--from", "preview.json")
    assert "nim (1 made)" in planned
    assert "made: Flock" in planned
