"""A third cloud that a package adds (``tests/third_cloud``): nothing else names it, and every command knows it.

The tests run in processes of their own: this process has already loaded the registry without it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab import tools
from longhaul.exits import Exit
from tests.longhaul.conftest import LIMIT_S, Checkout
from tests.longhaul.plan.steps import stack, step, text
from tests.support.project import REPOSITORY

PACKAGE = REPOSITORY / "tests" / "third_cloud"

KIND = "nimbus"

SITE = {"kind": KIND, "region": "north-1", "project": "physics", "image": "image-4"}
POOL = {"site": "nim", "machine_type": "lift-8", "min": 1, "max": 120}
ACCOUNT = {"project": "physics", "cores": {"north-1": 1000}, "images": ["image-4"], "fabrics": ["fabric-17"]}

ADDRESS = "pulumi-python:dynamic/nimbus:Address"
FABRIC = "pulumi-python:dynamic/nimbus:Fabric"
FLOCK = "pulumi-python:dynamic/nimbus:Flock"
TAGS = {"longhaul-environment": "dev", "longhaul-site": "nim", "longhaul-pool": "work"}

MEMBERS = """
import json
from clouds.base import cloud as base
from nimbus.cloud import Nimbus

def members(protocol):
    return {name for name in vars(protocol) if not name.startswith("_")}

def own(module, protocol):
    return {name for name in members(protocol) if vars(module)[name].__module__ == module.__name__}

nimbus, said = Nimbus(), {}
for name, protocol in vars(base).items():
    aspect = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)[1:]
    if getattr(protocol, "_is_protocol", False) and aspect in members(base.Cloud):
        answer = getattr(nimbus, aspect)
        said[aspect] = "none" if answer is None else sorted(members(protocol) - own(answer, protocol))
missing = members(base.Cloud) - set(dir(nimbus))
print(json.dumps({"bases": [one.__name__ for one in Nimbus.__mro__], "not its own": said, "missing": sorted(missing)}))
"""


@pytest.fixture(name="third")
def _third(checkout: Checkout, tmp_path: Path) -> Checkout:
    """An environment with its control plane in Azure, and a site and a pool of the third cloud."""
    write(checkout)
    account = tmp_path / "account.json"
    account.write_text(json.dumps(ACCOUNT), encoding="utf-8")
    checkout.environ |= {"PYTHONPATH": f"{REPOSITORY}:{PACKAGE}", "NIMBUS_ACCOUNT": str(account)}
    return checkout


def write(checkout: Checkout, *, pool: str = "work", tags: dict[str, str] | None = None, **site: Any) -> None:
    raw = {**checkout.environment(), "tags": tags or {}}
    raw["sites"]["nim"] = {**SITE, **site}
    raw["pools"] = {pool: POOL}
    checkout.write(raw)


def run(checkout: Checkout, *words: str, code: int = Exit.OK) -> str:
    done = subprocess.run(
        checkout.argv(*words),
        cwd=checkout.path,
        env=checkout.variables(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr if code else done.stdout


def test_it_answers_everything_itself() -> None:
    environ = {"PYTHONPATH": f"{REPOSITORY}:{PACKAGE}"}
    done = subprocess.run([sys.executable, "-c", MEMBERS], env=environ, capture_output=True, text=True, check=False)
    found = json.loads(done.stdout or "{}")
    assert found.get("bases") == ["Nimbus", "Aspects", "object"], done.stderr
    assert found["missing"] == []
    assert [found["not its own"].pop(aspect) for aspect in ("control", "quarantine")] == ["none", "none"]
    assert set(map(tuple, found["not its own"].values())) == {()}


def test_nothing_outside_of_it_names_it() -> None:
    def sources() -> Iterator[Path]:
        for package in ("clouds", "components", "images", "lab", "longhaul", "playbooks", "stacks"):
            yield from (REPOSITORY / package).rglob("*.py")

    naming = [path for path in sources() if KIND in path.read_text(encoding="utf-8").lower()]
    assert naming == []


def test_without_its_package_its_sites_are_of_no_kind(third: Checkout) -> None:
    third.environ["PYTHONPATH"] = str(REPOSITORY)
    assert "sites.nim.kind" in run(third, "validate", "--env", "dev", code=Exit.USAGE)


def test_validate(third: Checkout) -> None:
    run(third, "validate", "--env", "dev")
    write(third, project="Physics!", cloud_cover="much")
    said = run(third, "validate", "--env", "dev", code=Exit.USAGE)
    assert "sites.nim.project" in said
    assert "sites.nim.cloud_cover" in said
    write(third, zones=["low", "high", "low"])
    assert "'low' is named twice" in run(third, "validate", "--env", "dev", code=Exit.USAGE)
    write(third, tags={"weather": ""})
    assert "'weather' has no value, which Nimbus does not take" in run(
        third, "validate", "--env", "dev", code=Exit.USAGE
    )
    write(third, pool="a-pool-of-20-letters")
    said = run(third, "validate", "--env", "dev", code=Exit.USAGE)
    assert "as a flock would be called" in said
    assert "22 is the most" in said
    raw = third.environment()
    raw["pools"] = {"work": {**POOL, "machine_type": "kite"}}
    third.write(raw)
    assert "'kite' is not" in run(third, "validate", "--env", "dev", code=Exit.USAGE)


def test_show(third: Checkout) -> None:
    shown = json.loads(run(third, "show", "--env", "dev", "--json"))
    site = next(site for site in shown["sites"] if site["name"] == "nim")
    assert (site["kind"], site["region"]) == (KIND, "north-1")
    assert "dev-nim-fabric" in json.dumps(shown)
    said = run(third, "show", "--env", "dev")
    assert "Nimbus north-1" in said
    assert "work" in said


def test_map(third: Checkout) -> None:
    run(third, "show", "--env", "dev", "--output", "map.svg")
    drawn = (third.path / "map.svg").read_text(encoding="utf-8")
    assert "Nimbus" in drawn
    assert "#7a3e9d" in drawn
    assert "work" in drawn


def test_doctor(third: Checkout) -> None:
    words = ("doctor", "--env", "dev", "--json", "--only", "quotas", "--only", "images", "--only", "existing")
    write(third, existing={"fabric": "fabric-18"}, range="10.72.0.0/16")
    found = json.loads(run(third, *words, code=Exit.FAILED))
    said = {(one["check"], one["level"], one["what"]) for one in found["findings"] if "nim" in str(one["where"])}
    assert said == {
        ("quotas", "ok", "Nimbus north-1 gives 1000 cores, pools take 960 at most"),
        ("images", "ok", "the image image-4 is in Nimbus"),
        ("existing", "problem", "the fabric fabric-18 is not there"),
    }


def test_a_public_machine_is_refused(third: Checkout) -> None:
    bad = step("create", FLOCK, "dev-work", after={"skylight": True, "tags": TAGS})
    good = step("create", FLOCK, "dev-work-f1", after={"skylight": False, "tags": TAGS})
    (third.path / "preview.json").write_text(text([stack("dev"), bad, good]), encoding="utf-8")
    said = run(third, "plan", "--env", "dev", "--from", "preview.json", "--format", "json", code=Exit.REFUSED)
    assert "skylight is true" in said
    assert "public-interface" in said


def test_the_gateway_s_address_alone_may_be_public(third: Checkout) -> None:
    steps = [step("create", ADDRESS, name, after={"tags": TAGS}) for name in ("dev-links-nim-address", "dev-other")]
    (third.path / "preview.json").write_text(text([stack("dev"), *steps]), encoding="utf-8")
    said = run(third, "plan", "--env", "dev", "--from", "preview.json", "--format", "json", code=Exit.REFUSED)
    assert [one["where"] for one in json.loads(said)["policy"]] == [["dev-other"]]


def test_a_range_that_moves_is_refused(third: Checkout) -> None:
    before, after = ({"range": range_, "tags": TAGS} for range_ in ("10.65.0.0/16", "10.66.0.0/16"))
    moved = step("update", FABRIC, "dev-nim-fabric", before, after, detailed={"range": "update"})
    (third.path / "preview.json").write_text(text([stack("dev"), moved]), encoding="utf-8")
    said = run(third, "plan", "--env", "dev", "--from", "preview.json", code=Exit.REFUSED)
    assert "dev-nim-fabric: 10.65.0.0/16 -> 10.66.0.0/16" in said


@pytest.mark.engine
def test_plan(third: Checkout) -> None:
    found = tools.ensure(["pulumi"], log_dir=REPOSITORY / ".lab" / "log", progress=print)
    raw = third.environment()
    raw["sites"]["far"] = {**SITE, "region": "south-2", "range": "10.72.0.0/16", "existing": {"fabric": "fabric-17"}}
    third.write(raw)
    program = (REPOSITORY / "stacks" / "__main__.py").read_text(encoding="utf-8")
    (third.path / "stacks" / "__main__.py").write_text(program, encoding="utf-8")
    third.environ |= {"LONGHAUL_PULUMI": str(found["pulumi"]), "PULUMI_BACKEND_URL": ""}
    said = run(third, "plan", "--env", "dev", "--format", "json")
    assert "was not looked up" not in said, "no plugin is needed for what is there already"
    plan = json.loads(said)
    assert (plan["verdict"], set(plan["counts"])) == ("needs care", {"make"})
    assert {key for reason in plan["reasons"] for key in reason["where"]} == {"sites.weu.vpn"}, "risks alone"
    made = {one["urn"].rpartition("::")[2] for place in plan["places"] for one in place["resources"]}
    assert {"dev-nim-fabric", "dev-work", "dev-work-f1", "dev-links-nim-address", "dev-links-far-nim"} <= made
    assert "dev-far-fabric" not in made
    places = {(place["site"], place["kind"], place["part"]) for place in plan["places"]}
    assert {("links", "link", "weu-nim"), ("nim", "pool", "work"), ("nim", "", "")} <= places
