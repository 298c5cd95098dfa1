"""Two environments from two stack files, up side by side in one lab: one subscription, one account, one internet, and
no route from either to the other."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from ipaddress import IPv4Address
from itertools import product
from typing import Any

import pytest

from components.model import load, plan
from components.model.network.address_plan import FRONTEND
from components.model.secrets.vault import vault_url
from components.model.versions.section import pinned
from contract.ports import JOIN_PORT
from lab.state import LabState, running_init
from lab.teardown import leftovers
from lab.tenants import host_of
from tests.support.cloud import instances
from tests.support.project import Project, eventually, hybrid, run
from tests.support.strangers import CREDENTIALS, IDENTITY, PROBE, PROVE, SIGN_IN
from tests.support.workload import PORT, Talker, talkers

pytestmark = [pytest.mark.lab, pytest.mark.drill]

PROVIDER = "arn:aws:iam::123456789012:oidc-provider/sts.windows.net/00000000-0000-4000-8000-000000000002/"
PORTS = (22, 2379, 2380, 6443, JOIN_PORT, PORT, 10250)
"""Ports of SSH, etcd, the API, the join endpoint, the pod and a kubelet: each is tried at every address."""


@dataclass(frozen=True, kw_only=True)
class Side:
    """One of the environments, up, with a pod that serves."""

    project: Project
    node: str
    talker: Talker

    def addresses(self) -> list[str]:
        """Return all of its private addresses: of machines, routers' and gateways' ends, the API, the pod and the
        operator."""
        addresses = plan(load(self.project.stack_file))
        status = json.loads(self.project.lab("status", "--json").stdout)
        found = {IPv4Address(machine["address"]) for machine in status["machines"]}
        ranges = [str(range_).partition("/")[0] for network in status["networks"] for range_ in network["ranges"]]
        found |= {IPv4Address(first) + number for first in ranges for number in (0, 1)}
        found |= {addresses.sites["weu"].subnet("api")[FRONTEND], IPv4Address(self.talker.address)}
        found.add(addresses.operators[1])
        return [str(address) for address in sorted(found) if address in addresses.supernet]

    def ask(self, place: str, program: str, *arguments: str) -> str:
        """Return the output of a Python program that runs in one of its places: the operator's, the pod's network or a
        machine."""
        words = ["python3", "-B", "-c", program, *arguments]
        if place == "operator":
            return run([str(self.project.state / "enter"), sys.executable, *words[1:]]).stdout
        if place == "pod":
            inside = f'nsenter --net="$ns" ip -4 -oneline address | grep --quiet " {self.talker.address}/"'
            enter = f'nsenter --net="$ns" {shlex.join(words)}'
            return self.on(self.node, f"for ns in /run/netns/*; do if {inside}; then {enter}; fi; done").stdout
        return self.on(place, shlex.join(words)).stdout

    def on(self, machine: str, script: str, *, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run a shell script on a machine."""
        return self.project.on(machine, script, check=check)

    def reaches(self, addresses: list[str]) -> dict[str, set[str]]:
        """Return for each of its places those of the addresses that answer there at any port."""
        tried = json.dumps(list(product(addresses, PORTS)))
        places = self.places()
        with ThreadPoolExecutor() as pool:
            answers = pool.map(lambda place: self.ask(place, PROBE, tried), places)
            return {place: set(json.loads(answer)) for place, answer in zip(places, answers, strict=True)}

    def places(self) -> list[str]:
        """Return its places: one of each kind that has rules of its own."""
        env = self.project.env
        return [f"{env}-etcd-0", f"{env}-api-0", self.node, "pod", "operator"]

    def vault(self, *, token: str, of: Side, at: str) -> int:
        """Return the HTTP status of the vault of ``of`` for a client with ``token`` in one of this side's places."""
        env = of.project.env
        url = f"{vault_url(load(of.project.stack_file))}/secrets/{env}-etcd-0-member?api-version=7.5"
        asked = (
            f'curl --silent --output /dev/null --write-out "%{{http_code}}" --header "Authorization: Bearer {token}"'
        )
        if at == "operator":
            return int(run([str(self.project.state / "enter"), "sh", "-c", f'{asked} "{url}"']).stdout)
        return int(self.on(at, f'{asked} "{url}"').stdout)


def _raw(env: str, *, supernet: str, operator: str) -> dict[str, Any]:
    raw = hybrid(env, supernet=supernet, etcd=1, events=1, api=1)
    raw["sites"] = {name: raw["sites"][name] for name in ("weu", "use1")}
    raw["access"]["operators"] = [f"{operator}/32"]
    del raw["bare_metal"]
    return raw


def _state(project: Project) -> LabState:
    return LabState.of(project.env, root=project.path / ".lab")


def _side(project: Project) -> Side:
    name = f"in-{project.env}"
    talker = talkers(project, pinned("agnhost"), **{name: "use1"})[name]
    (node,) = instances(project, f"{project.env}-cpu")
    return Side(project=project, node=node, talker=talker)


@pytest.fixture(scope="module", name="projects")
def _projects(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Project, Project]]:
    first_raw = _raw("first", supernet="10.192.0.0/12", operator="198.51.100.2")
    second_raw = _raw("second", supernet="10.208.0.0/12", operator="198.51.100.3")
    second_raw["access"]["aws_identity_provider"] = PROVIDER
    first = Project.make(tmp_path_factory.mktemp("two"), first_raw)
    second = Project(path=first.path, env="second")
    try:
        second.write(second_raw)
        with ThreadPoolExecutor() as pool:
            ups = [pool.submit(first.up)]
            # A second environment that starts once the first one's clouds run is in the same lab; then both are built
            # at once.
            eventually(
                lambda: ups[0].done() or (running_init(_state(first)) is not None and _state(first).enter.exists())
            )
            ups.append(pool.submit(second.up))
            said = [up.result() for up in ups]
        assert "second: all is healthy" in said[1]
        assert host_of(_state(second)) == _state(first)
        yield first, second
    finally:
        first.lab("down", "--all", check=False)


@pytest.fixture(scope="module", name="sides")
def _sides(projects: tuple[Project, Project]) -> dict[str, Side]:
    return {project.env: _side(project) for project in projects}


BOTH_WAYS = pytest.mark.parametrize(("one", "other"), [("first", "second"), ("second", "first")])


def test_both_are_well(projects: tuple[Project, Project]) -> None:
    for project in projects:
        project.await_healthy()


def test_they_share_the_lab_and_nothing_else(projects: tuple[Project, Project]) -> None:
    first, second = projects
    reports = [json.loads(project.lab("status", "--json").stdout) for project in projects]
    assert reports[0]["init"]["pid"] == reports[1]["init"]["pid"]
    assert reports[0]["port"] != reports[1]["port"]
    names = {
        item["metadata"]["name"] for item in json.loads(first.kubectl("get", "nodes", "-o", "json").stdout)["items"]
    }
    others = {
        item["metadata"]["name"] for item in json.loads(second.kubectl("get", "nodes", "-o", "json").stdout)["items"]
    }
    assert names
    assert others
    assert not names & others


@BOTH_WAYS
def test_each_reaches_itself_and_nothing_of_the_other(sides: dict[str, Side], one: str, other: str) -> None:
    here, there = sides[one], sides[other]
    own, foreign = here.addresses(), there.addresses()
    assert not set(own) & set(foreign)
    assert len(foreign) > len(there.places())
    for place, reached in here.reaches([*own, *foreign]).items():
        assert reached & set(own), f"{place} reaches nothing at all, which says nothing of the other"
        assert reached & set(foreign) == set(), place


@BOTH_WAYS
def test_a_machine_s_identity_opens_its_own_vault_only(sides: dict[str, Side], one: str, other: str) -> None:
    here, there = sides[one], sides[other]
    own, foreign = f"{one}-etcd-0", f"{other}-etcd-0"
    token = here.ask(own, IDENTITY).strip()
    assert here.vault(token=token, of=here, at=own) == 200
    assert here.vault(token=token, of=there, at=own) == 403
    # Even where the vault's network rules admit it, the token is refused: its identity is not the other environment's.
    assert there.vault(token=there.ask(foreign, IDENTITY).strip(), of=there, at=foreign) == 200
    assert there.vault(token=token, of=there, at=foreign) == 403


@BOTH_WAYS
def test_a_vault_admits_its_own_operator_s_place_only(sides: dict[str, Side], one: str, other: str) -> None:
    here, there = sides[one], sides[other]
    token = here.ask("operator", SIGN_IN).strip()
    assert here.vault(token=token, of=here, at="operator") == 200
    assert here.vault(token=token, of=there, at="operator") == 403


@BOTH_WAYS
def test_an_operator_knows_the_names_of_its_own(sides: dict[str, Side], one: str, other: str) -> None:
    enter = [str(sides[one].project.state / "enter"), "getent", "ahostsv4"]
    assert run([*enter, f"api.{one}.longhaul.internal"]).stdout
    assert run([*enter, f"api.{other}.longhaul.internal"], check=False).stdout == ""


@BOTH_WAYS
def test_a_machine_of_the_other_joins_nothing(sides: dict[str, Side], one: str, other: str) -> None:
    """It cannot reach the join endpoint; and the endpoint refuses its credentials from any machine."""
    here, there = sides[one], sides[other]
    stolen = there.ask(there.node, CREDENTIALS).strip()
    words = ["python3", "-B", "-c", PROVE, there.node, stolen]
    done = here.on(here.node, f"rm -rf /run/test-two; {shlex.join(words)}", check=False)
    assert done.returncode == 1, done.stdout
    assert "ForeignProof" in done.stdout
    assert f"{there.node} has the role" in done.stdout
    ready = json.loads(here.project.kubectl("get", "nodes", "--output=json").stdout)["items"]
    assert there.node not in {item["metadata"]["name"] for item in ready}


def test_the_second_goes_and_the_first_is_well(projects: tuple[Project, Project], sides: dict[str, Side]) -> None:
    first, second = projects
    before = sides["first"].project.kubectl("get", "--raw", "/readyz").stdout
    second.lab("down", "--all")
    assert leftovers(_state(second)) == []
    left = json.loads(first.lab("status", "--json").stdout)
    assert [item["name"] for item in left["machines"] if item["name"].startswith("second-")] == []
    assert len(left["networks"]) == 2
    assert before == first.kubectl("get", "--raw", "/readyz").stdout == "ok"
    assert sides["first"].talker.get("/hostname") == "in-first"
    first.await_healthy()
    summary = json.loads(first.longhaul("plan", "--raw", "--format", "json").stdout)
    assert (summary["create"], summary["update"], summary["replace"], summary["delete"]) == (0, 0, 0, 0)
