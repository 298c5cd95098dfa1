"""The command that looks once, on lists and groups in memory."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from contract.kubernetes.api import Api
from contract.kubernetes.connection import ApiError
from contract.kubernetes.paths import NODES, PODS
from longhaul.cli import main
from longhaul.cluster import api_access
from longhaul.terminal.exits import Exit
from services.autoscaler import cluster_state
from tests.longhaul.conftest import Checkout
from tests.services.autoscaler.api_objects import node, pod
from tests.services.autoscaler.listed_cluster import NOW, Lists, Standing, groups_of_pools, machine


@pytest.fixture(name="groups")
def _groups(monkeypatch: pytest.MonkeyPatch) -> dict[str, Standing]:
    return groups_of_pools(monkeypatch)


@pytest.fixture(name="api")
def _api(monkeypatch: pytest.MonkeyPatch) -> Lists:
    api = Lists()

    @contextmanager
    def given(*_: object) -> Iterator[Api]:
        yield api

    monkeypatch.setattr(api_access, "api_of", given)
    return api


def command(checkout: Checkout, *words: str) -> int:
    return main(["autoscaler", "--env", "dev", "--project", str(checkout.path), *words])


def test_the_command_says_what_would_be_done(
    checkout: Checkout, groups: dict[str, Standing], api: Lists, capsys: pytest.CaptureFixture[str]
) -> None:
    checkout.gains_hosts()
    api.lists[PODS] = [pod("huge", requests={"cpu": "4k"})]
    assert command(checkout, "--once", "--dry-run") == Exit.OK
    assert "tell team/huge: no pool can hold this: asks 4000 cores; the largest machine is " in capsys.readouterr().out
    assert command(checkout, "--once", "--dry-run", "--json") == Exit.OK
    found = json.loads(capsys.readouterr().out)
    assert (found["environment"], found["not_seen"]) == ("dev", [])
    assert next(one for one in found["actions"] if one["action"] == "tell")["pods"] == ["team/huge"]


def test_idle_nodes_are_named(
    checkout: Checkout, groups: dict[str, Standing], api: Lists, capsys: pytest.CaptureFixture[str]
) -> None:
    checkout.gains_hosts()
    groups["cpu"] = Standing(machines=(machine("i-1"),))
    api.lists[NODES] = [node("i-1", pool="cpu")]
    assert command(checkout, "--once", "--dry-run") == Exit.OK
    assert capsys.readouterr().out.splitlines()[-1] == "idle: 1 node: i-1"


def test_a_pod_that_fits_a_node_and_stays_unbound_is_told(
    checkout: Checkout, groups: dict[str, Standing], api: Lists, capsys: pytest.CaptureFixture[str]
) -> None:
    """As with a volume that nobody makes: the autoscaler has nothing to do, and that is not all."""
    checkout.gains_hosts()
    groups["cpu"] = Standing(machines=(machine("i-1"),))
    api.lists |= {NODES: [node("i-1", pool="cpu")], PODS: [pod("p", requests={"cpu": "100m"})]}
    assert command(checkout, "--once", "--dry-run") == Exit.OK
    first, second = capsys.readouterr().out.splitlines()[:2]
    assert first == "nothing to do"
    assert second.startswith("waiting: 1 pod for which a node has room")
    assert "`longhaul status` shows what they wait for" in second
    assert command(checkout, "--once", "--dry-run", "--json") == Exit.OK
    assert json.loads(capsys.readouterr().out)["fitting_pods"] == 1


def test_what_could_not_be_read_is_no_success(
    checkout: Checkout, groups: dict[str, Standing], api: Lists, capsys: pytest.CaptureFixture[str]
) -> None:
    checkout.gains_hosts()
    groups["cpu"] = Standing(refuses="AWS does not answer")
    assert command(checkout, "--once", "--dry-run") == Exit.FAILED
    assert "not seen: dev-cpu: AWS does not answer" in capsys.readouterr().out
    api.down = ApiError("no answer", status=0)
    assert command(checkout, "--once", "--dry-run") == Exit.UNREACHABLE


def test_it_does_not_act_beside_another_one(
    checkout: Checkout, groups: dict[str, Standing], api: Lists, capsys: pytest.CaptureFixture[str]
) -> None:
    checkout.gains_hosts()
    spec = {"holderIdentity": "api-0", "leaseDurationSeconds": 15, "renewTime": NOW.isoformat()}
    api.objects[f"{cluster_state.LEASES}/longhaul-autoscaler"] = {"metadata": {}, "spec": spec}
    assert command(checkout, "--once") == Exit.FAILED
    assert "another autoscaler is active (held by api-0): stop it first" in capsys.readouterr().err
