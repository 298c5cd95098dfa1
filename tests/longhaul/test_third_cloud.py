"""A third cloud is a package: nothing of the project knows of it, and everything that reads an environment has it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from longhaul.exits import Exit
from tests.longhaul.conftest import LIMIT_S, Checkout, FakeEngine
from tests.longhaul.plan.steps import step, text

MEADOW = Path(__file__).parents[1] / "clouds" / "meadow"


@pytest.fixture
def field(checkout: Checkout) -> Checkout:
    """The environment has a site in the meadow, with a pool, and racks."""
    checkout.gains_racks()
    raw = checkout.environment()
    raw["sites"]["ley"] = {"kind": "meadow", "region": "hill"}
    raw["pools"]["oxen"] = {"site": "ley", "machine_type": "ox", "min": 1, "max": 3}
    checkout.write(raw)
    return checkout


def run(checkout: Checkout, *words: str) -> subprocess.CompletedProcess[str]:
    return python(checkout, "-m", "longhaul", *words)


def python(checkout: Checkout, *words: str) -> subprocess.CompletedProcess[str]:
    environ = {**checkout.variables(), "PYTHONPATH": f"{checkout.repository}:{MEADOW}"}
    command = [sys.executable, *words]
    return subprocess.run(
        command, cwd=checkout.path, env=environ, capture_output=True, text=True, check=False, timeout=LIMIT_S
    )


def test_without_its_package_its_sites_are_of_no_kind(field: Checkout) -> None:
    done = field.run("validate", "--env", "dev")
    assert done.returncode == 2
    assert "sites.ley.kind" in done.stderr


def test_it_is_validated(field: Checkout) -> None:
    done = run(field, "validate", "--env", "dev")
    assert done.returncode == 0, done.stderr
    raw = field.environment()
    raw["sites"]["ley"]["region"] = "swamp"
    raw["sites"]["a-name-that-is-long"] = {"kind": "meadow", "region": "hill"}
    raw["pools"]["oxen"]["machine_type"] = "cow"
    raw["tags"] = {"weed": "x"}
    field.write(raw)
    said = run(field, "validate", "--env", "dev").stderr
    for words in ("nothing grows in the swamp", "as a field would be called", "'cow' is not", "'weed' is no flower"):
        assert words in said


def test_it_is_shown(field: Checkout) -> None:
    shown = json.loads(run(field, "show", "--env", "dev", "--json").stdout)
    assert ("ley", "meadow", "hill") in {(site["name"], site["kind"], site["region"]) for site in shown["sites"]}
    said = run(field, "show", "--env", "dev").stdout
    assert "oxen" in said
    assert "ley" in said


def test_it_is_drawn(field: Checkout) -> None:
    done = run(field, "map", "--env", "dev", "--to", "map.svg")
    assert done.returncode == 0, done.stderr
    drawn = (field.path / "map.svg").read_text(encoding="utf-8")
    assert "Meadow" in drawn
    assert "oxen" in drawn


def test_it_is_looked_at_by_the_doctor(field: Checkout) -> None:
    said = run(field, "doctor", "--env", "dev", "--only", "existing", "--json").stdout
    assert "ley wants rain" in said


def test_its_resources_are_judged(field: Checkout) -> None:
    code = """
from pathlib import Path
from clouds.base.policy import Resource
from components.model import load
from components.model.policy import policies
found = policies(load(Path("stacks/Pulumi.dev.yaml")))
one = Resource(urn="u", type="meadow:index:Field", name="ley", inputs={})
print(*(finding.what for finding in found.against(one)), *sorted(found.declared.public))
"""
    done = python(field, "-c", code)
    assert "ley of dev has no fence" in done.stdout, done.stderr
    assert "dev-ley-stile" in done.stdout


@pytest.mark.parametrize(("fence", "code"), [(True, Exit.OK), (False, Exit.REFUSED)])
def test_it_is_planned(fence: bool, code: int, field: Checkout, engine: FakeEngine) -> None:
    tags = {"longhaul-environment": "dev", "longhaul-site": "ley"}
    engine.previews(text([step("create", "meadow:index:Field", "dev-ley", after={"fence": fence, "tags": tags})]))
    done = run(field, "plan", "--env", "dev")
    assert done.returncode == code, done.stderr
    assert "ley" in done.stdout
    assert ("has no fence" in done.stdout) is not fence


def test_it_answers_all_that_is_asked_and_inherits_nothing(checkout: Checkout) -> None:
    code = """
from typing import Protocol, get_type_hints
from clouds.base import cloud as base
from meadow_cloud import Meadow
def public(of): return {name for name in vars(of) if not name.startswith("_")}
assert Meadow.__bases__ == (object,)
print("cloud", sorted(public(base.Cloud) - public(Meadow)))
for name, aspect in ((name, getattr(Meadow, name)) for name in public(base.Cloud)):
    title = "".join(word.capitalize() for word in name.split("_"))
    asked = getattr(base, title, None)
    if asked is not None and isinstance(asked, type) and aspect is not None and getattr(asked, "_is_protocol", False):
        print(name, sorted(public(asked) - set(vars(aspect))))
"""
    done = python(checkout, "-c", code)
    lines = done.stdout.splitlines()
    assert len(lines) > 15, done.stderr
    assert [line for line in lines if not line.endswith(" []")] == []
