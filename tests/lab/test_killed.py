"""``make lab`` killed at any point is finished by the next run: nothing is duplicated, stuck or left over."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.killed import processes_of
from tests.support.project import REPOSITORY, Project, eventually, hybrid

pytestmark = [pytest.mark.lab, pytest.mark.drill]

MOMENTS = (
    pytest.param("the-lab-s-cloud.log", "", id="while the cloud starts"),
    pytest.param("up-*.log", "VirtualNetworkGateway killed-links-weu-gateway creating", id="while a gateway is made"),
    pytest.param("up-*.log", "VirtualMachine killed-etcd-0 creating", id="while a machine is made"),
    pytest.param("up-*.log", "VirtualMachineScaleSet killed-spare-set creating", id="while a scale set is made"),
    pytest.param("up-*.log", "VpnConnection killed-links", id="while links are made"),
    pytest.param("up-*.log", "Founded killed-etcd-founded creating", id="while an etcd cluster is bootstrapped"),
    pytest.param("up-*.log", "Readiness killed-api-0-ready creating", id="while a machine is awaited"),
    pytest.param("up-*.log", "hosts          | TASK [packages", id="while racks are made"),
    pytest.param("up-*.log", "Deployment coredns creating", id="while objects are awaited"),
)

SIGNS = [one.values[1] for one in MOMENTS if str(one.values[1]).endswith(" creating")]
STARTS = {"while a scale set is made": "killed-spare-000000"}
"""Machines that have to be there as well at a moment: then the request that makes them is being answered."""


@pytest.fixture(scope="module", name="project")
def _project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    raw = hybrid("killed", supernet="10.160.0.0/12", etcd=1, events=1, api=1)
    raw["pools"]["spare"] = {"site": "weu", "machine_type": "Standard_D8s_v5", "min": 1, "max": 1}
    project = Project.make(tmp_path_factory.mktemp("killed"), raw)
    try:
        yield project
    finally:
        project.lab("down", "--all", check=False)


@pytest.fixture(scope="module", name="caught")
def _caught() -> set[str]:
    """Signs of the moments that an earlier kill has met too: the engine makes much at once, and in no fixed order."""
    return set()


@pytest.mark.parametrize(("log", "sign"), MOMENTS)
def test_it_is_killed(project: Project, log: str, sign: str, request: pytest.FixtureRequest, caught: set[str]) -> None:
    if sign in caught:
        return
    logs = project.path / ".lab" / "log"
    for path in logs.glob(f"killed-{log}"):
        path.unlink()
    words = [sys.executable, "-m", "lab.up", "--project", str(project.path), "--env", project.env]
    with subprocess.Popen(words, cwd=REPOSITORY, stdout=subprocess.DEVNULL, start_new_session=True) as process:
        try:
            _await_sign(logs, f"killed-{log}", sign, process)
            starts = STARTS.get(request.node.callspec.id)
            eventually(lambda: starts is None or project.phase(starts) != "", limit_s=60.0)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    said = "".join(path.read_text(encoding="utf-8", errors="replace") for path in logs.glob("killed-up-*.log"))
    caught |= {one for one in SIGNS if one in said and one.replace(" creating", " created") not in said}


def _await_sign(logs: Path, log: str, sign: str, process: subprocess.Popen[bytes]) -> None:
    """Wait until a log of that name contains the sign; fail the test if the process ends before."""
    ended = os.pidfd_open(process.pid)
    try:
        while not any(sign in path.read_text(encoding="utf-8", errors="replace") for path in logs.glob(log)):
            if select.select([ended], [], [], 0.05)[0]:
                raise AssertionError(f"ended with {process.wait()} before {log} said {sign!r}")
    finally:
        os.close(ended)


def test_the_next_run_finishes_it(project: Project) -> None:
    project.up()
    project.await_healthy()


def test_nothing_was_made_twice(project: Project) -> None:
    summary = json.loads(project.longhaul("plan", "--raw", "--format", "json").stdout)
    assert (summary["create"], summary["update"], summary["replace"], summary["delete"]) == (0, 0, 0, 0)
    machines = {item["name"] for item in json.loads(project.lab("status", "--json").stdout)["machines"]}
    instances = {name for name in machines if name.startswith("i-")}
    roles = ("api-0", "etcd-0", "events-0", "gw-0", "node-0", "spare-000000")
    assert machines - instances == {f"killed-{role}" for role in roles}
    assert len(instances) == 1


def test_no_process_of_the_killed_runs_is_left(project: Project) -> None:
    # A plugin of the run that has just ended may still be ending; a killed run's had enough time.
    eventually(lambda: not processes_of(project))
