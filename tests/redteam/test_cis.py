"""The CIS benchmark on every kind of machine: what does not hold is what docs/security.md gives reasons for."""

from __future__ import annotations

import re

import pytest

from components.model import load, plan
from components.model.hosts.places import gateway_places
from tests.redteam.cis import COLLECT, EVERY, ON_API_SERVERS, ON_MEMBERS, ON_NODES, Facts, not_held
from tests.support.cloud import instances
from tests.support.project import REPOSITORY, Project
from tests.support.shared_lab import ENV, GROUP, HOST, SERVERS, SharedLab

CHOICES = re.compile(r"^\| (\d[\d., ]+) \|", re.MULTILINE)
MEMBERS = (f"{ENV}-etcd-0", f"{ENV}-events-0")


def choices() -> set[str]:
    """Return the numbers that the table of docs/security.md has."""
    page = (REPOSITORY / "docs/security.md").read_text(encoding="utf-8")
    return {number.strip() for row in CHOICES.findall(page) for number in row.split(",")}


def facts(project: Project, machine: str) -> Facts:
    return Facts.of(project.on(machine, COLLECT).stdout)


@pytest.fixture(scope="module", name="project")
def _project(shared_lab: SharedLab) -> Project:
    return shared_lab.take()


def test_each_choice_is_about_a_check() -> None:
    assert choices() <= EVERY.keys()


def test_all_numbers_are_judged() -> None:
    """Each section is whole, as kube-bench's files have it."""
    assert len(EVERY) == len(ON_API_SERVERS) + len(ON_MEMBERS) + len(ON_NODES)
    most = {"1.1": 21, "1.2": 30, "1.3": 7, "1.4": 2, "2": 7, "3.1": 3, "3.2": 2, "4.1": 10, "4.2": 14, "4.3": 1}
    assert EVERY.keys() == {f"{section}.{number}" for section, last in most.items() for number in range(1, last + 1)}


@pytest.mark.lab
@pytest.mark.cluster
@pytest.mark.parametrize("machine", SERVERS)
def test_an_api_server_s_machine(project: Project, machine: str) -> None:
    assert not_held(ON_API_SERVERS, facts(project, machine)) == choices() & ON_API_SERVERS.keys()


@pytest.mark.lab
@pytest.mark.cluster
@pytest.mark.parametrize("machine", MEMBERS)
def test_a_member_s_machine(project: Project, machine: str) -> None:
    assert not_held(ON_MEMBERS, facts(project, machine)) == choices() & ON_MEMBERS.keys()


@pytest.mark.lab
@pytest.mark.cluster
@pytest.mark.parametrize("kind", ["of a pool", "host of a rack"])
def test_a_node(project: Project, kind: str) -> None:
    node = HOST if kind == "host of a rack" else instances(project, GROUP)[0]
    assert not_held(ON_NODES, facts(project, node)) == choices() & ON_NODES.keys()


@pytest.mark.lab
@pytest.mark.cluster
@pytest.mark.parametrize("machine", [*SERVERS, *MEMBERS, HOST])
def test_no_kubeconfig_is_for_others(project: Project, machine: str) -> None:
    """The numbers above name some; these are all."""
    files = facts(project, machine).told["files"]
    assert {path: oct(one["mode"]) for path, one in files.items() if "kubeconfig" in path and one["mode"] & 0o077} == {}


@pytest.mark.lab
@pytest.mark.cluster
def test_a_gateway_runs_none_of_it(project: Project) -> None:
    environment = load(project.stack_file)
    gateways = [f"{ENV}-{place.name}" for place in gateway_places(environment, plan(environment))]
    assert gateways
    assert all(facts(project, gateway).programs == frozenset() for gateway in gateways)
