"""Machines of pools that are no nodes, gateways, and hosts that do not answer, as the status shows them."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from clouds.base.live_groups import GroupState, Life, LiveMachine
from components.model import Environment, load, plan
from longhaul.racks.inventory import Reach, machines
from longhaul.report.status_verdict import StatusVerdict
from longhaul.status import groups
from longhaul.status.fleet import judge_addons, judge_nodes
from longhaul.status.gateways import judge_gateways
from longhaul.status.observed import AddonView, ApiEndpoint, ClusterView, Observed, ReportedGroups
from longhaul.status.pools import judge_pools, judge_unjoined
from longhaul.status.ssh_probes import SshProbe, answer, probe
from longhaul.status.text import to_json, to_text
from longhaul.status.verdicts import judge
from tests.longhaul.status.test_status import CLUSTER, TUNNELS, node, tunnel

NOW = datetime(2026, 1, 2, 4, tzinfo=UTC)
SILENT = SshProbe(reached=False, reason="connect to host 198.51.100.20 port 22: Connection timed out")


@pytest.fixture(name="environment", scope="module")
def _environment(root: Path) -> Environment:
    return load(root / "stacks" / "Pulumi.lab.yaml")


def machine(name: str, life: Life = Life.PRESENT) -> LiveMachine:
    return LiveMachine(id=name, node=name, current=True, life=life)


def seen(*absent: LiveMachine, ready: int = 1, wanted: int = 0, **more: Any) -> Observed:
    """Return a pool with ``ready`` nodes and further machines, of which the group wants all."""
    nodes = tuple(node(f"i-{number}", pool="cpu", site="use1") for number in range(ready))
    there = (*(machine(one.name) for one in nodes), *absent)
    refusals = more.pop("refusals", ())
    group = ReportedGroups(machines=there, wanted=wanted or len(there), **more)
    cluster = ClusterView(nodes=(*nodes, CLUSTER.nodes[1]), addons=CLUSTER.addons, refusals=refusals)
    endpoint = ApiEndpoint(url="", reached=True, ready=True)
    return Observed(cloud={}, endpoint=endpoint, tunnels=TUNNELS, cluster=cluster, groups={"cpu": group}, now=NOW)


def ago(**since: float) -> str:
    return (NOW - timedelta(**since)).isoformat()


def test_five_of_ten_machines_that_never_joined_are_named(environment: Environment) -> None:
    lost = [machine(f"i-{number}") for number in range(5, 10)]
    observed = seen(
        *lost,
        ready=5,
        made={one.node: ago(hours=2) for one in lost},
        consoles={one.node: f"console {one.node}" for one in lost},
        refusals=("i-5: 2026-01-02T03:59:00Z: WrongPool: asked from 10.0.0.1 as i-5: no",),
    )
    (pool, _hosts) = judge_pools(environment, observed)
    assert (pool.verdict, pool.ready, pool.wanted, pool.machines) == (StatusVerdict.DEGRADED, 5, 10, 10)
    assert pool.message == "5 ready of 10 machines, at least 1; 5 not joined"
    status = judge(environment, (), observed, inside=False)
    assert not status.healthy
    found = {one.name: one for one in status.nodes if one.verdict is not StatusVerdict.OK}
    assert {one.verdict for one in found.values()} == {StatusVerdict.MISSING}
    assert found["i-5"].message == (
        "it has not joined, and was refused: 2026-01-02T03:59:00Z: WrongPool: asked from 10.0.0.1 as i-5: no; "
        "its own output: `console i-5`"
    )
    assert found["i-6"].message == "it has not joined, and no refusal is known; its own output: `console i-6`"
    assert (found["i-6"].pool, found["i-6"].site, found["i-6"].created) == ("cpu", "use1", ago(hours=2))
    assert "i-9" in to_text(status, colour=False)


@pytest.mark.parametrize(
    ("life", "made", "refusal", "verdict"),
    [
        (Life.PRESENT, ago(minutes=14), "", StatusVerdict.JOINING),
        (Life.PRESENT, ago(minutes=16), "", StatusVerdict.MISSING),
        (Life.PRESENT, "", "", StatusVerdict.MISSING),
        (Life.CHANGING, "", "", StatusVerdict.JOINING),
        (Life.PRESENT, ago(seconds=9), "csr: now: UnknownMachine: there is no machine i-77", StatusVerdict.MISSING),
        (Life.PRESENT, ago(seconds=9), "csr: now: UnknownMachine: there is no machine i-778", StatusVerdict.JOINING),
        (Life.LEAVING, ago(hours=9), "", None),
    ],
    ids=["young", "old", "of unknown age", "being made", "young and refused", "another refused", "leaving"],
)
def test_a_machine_has_some_time_to_join_unless_it_is_refused(
    environment: Environment, life: Life, made: str, refusal: str, verdict: StatusVerdict | None
) -> None:
    observed = seen(machine("i-77", life), made={"i-77": made} if made else {}, refusals=(refusal,), wanted=1)
    assert [one.verdict for one in judge_unjoined(environment, observed)] == ([verdict] if verdict else [])
    pool = judge_pools(environment, observed)[0]
    assert pool.verdict is (StatusVerdict.DEGRADED if verdict is StatusVerdict.MISSING else StatusVerdict.OK)


def test_what_the_cloud_has_not_made_is_counted(environment: Environment) -> None:
    pool = judge_pools(environment, seen(wanted=3))[0]
    assert (pool.verdict, pool.message) == (
        StatusVerdict.DEGRADED,
        "1 ready of 3 machines, at least 1; 2 not made by the cloud",
    )


def test_a_cloud_that_does_not_say_leaves_the_nodes(environment: Environment) -> None:
    pool = judge_pools(environment, replace(seen(), groups={"cpu": ReportedGroups(error="no credentials")}))[0]
    assert pool.verdict is StatusVerdict.OK
    assert pool.message.endswith("its machines are not known: no credentials")


def test_a_node_whose_machine_left_its_group_says_so(environment: Environment) -> None:
    gone = replace(CLUSTER, nodes=(node("i-old", pool="cpu", site="use1", ready=False),))
    found = judge_nodes(environment, replace(seen(), cluster=gone))[0]
    assert "its machine is no longer in the pool's group" in found.message


class Live:
    """A group in a cloud."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def look(self) -> GroupState:
        there = (machine("i-0"), machine("i-1"), machine("i-2", Life.LEAVING))
        return GroupState(target="1", wanted=2, machines=there)

    def made_at(self, found: list[LiveMachine]) -> dict[str, str]:
        self.asked += [one.id for one in found]
        return {"i-1": ago(hours=1)}

    def console(self, one: LiveMachine) -> str:
        return f"console {one.id}"


def test_the_age_of_unjoined_alone_is_asked_for(environment: Environment, monkeypatch: pytest.MonkeyPatch) -> None:
    live = Live()

    class Cloud:
        @staticmethod
        def live_groups(_place: object, name: str) -> dict[str, Live]:
            return {name: live}

    monkeypatch.setattr(groups, "cloud_of", lambda _site: Cloud)
    view = groups.ask_pool(environment, "cpu", lambda: ClusterView(nodes=(node("i-0", pool="cpu", site="use1"),)))
    assert (live.asked, view.made, view.consoles) == (["i-1"], {"i-1": ago(hours=1)}, {"i-1": "console i-1"})
    assert (view.wanted, len(view.machines)) == (2, 3)


@pytest.mark.parametrize(
    ("knocked", "up", "verdict", "says"),
    [
        (SshProbe(reached=True), True, StatusVerdict.OK, "its services run"),
        (SshProbe(reached=True, reason="Permission denied"), True, StatusVerdict.UNKNOWN, "Permission denied"),
        (
            SshProbe(reached=True, troubles=("strongswan.service has failed: no",)),
            True,
            StatusVerdict.UNHEALTHY,
            "failed: no",
        ),
        (SILENT, False, StatusVerdict.UNREACHABLE, "Connection timed out"),
        (SILENT, True, StatusVerdict.UNKNOWN, "all tunnels of rack are up"),
        (SshProbe(reached=None, reason="no key"), False, StatusVerdict.UNKNOWN, "no key"),
        (None, False, StatusVerdict.UNKNOWN, "not asked"),
    ],
)
def test_a_gateway_has_a_row_of_its_own(
    environment: Environment, knocked: SshProbe | None, up: bool, verdict: StatusVerdict, says: str
) -> None:
    tunnels = TUNNELS if up else (*TUNNELS[:-1], tunnel("use1-rack", "use1", up=False))
    observed = replace(seen(), tunnels=tunnels, ssh_probes={"lab-gw-0": knocked} if knocked else {})
    (found,) = judge_gateways(environment, observed)
    assert (found.name, found.site, found.address, found.verdict) == ("lab-gw-0", "rack", "198.51.100.20", verdict)
    assert says in found.message
    if knocked is SILENT:
        assert judge_gateways(environment, observed, inside=True)[0].verdict is StatusVerdict.UNREACHABLE
    status = judge(environment, (), observed, inside=False)
    assert json.loads(to_json(status))["gateways"][0]["verdict"] == verdict
    assert "GATEWAY" in to_text(status, colour=False)


@pytest.mark.parametrize("there", [True, False], ids=["not ready", "no node"])
@pytest.mark.parametrize(
    ("knocked", "says"),
    [
        (SILENT, "it does not answer over SSH: connect to host"),
        (SshProbe(reached=True, troubles=("kubelet.service has failed: no",)), "kubelet.service has failed: no"),
        (SshProbe(reached=True), ""),
    ],
)
def test_a_host_says_why_it_is_no_ready_node(
    environment: Environment, there: bool, knocked: SshProbe, says: str
) -> None:
    host = node("lab-node-0", pool="hosts", site="rack", ready=False)
    observed = replace(seen(), cluster=ClusterView(nodes=(host,) if there else ()), ssh_probes={"lab-node-0": knocked})
    (found,) = judge_nodes(environment, observed)
    usual = StatusVerdict.UNHEALTHY if there else StatusVerdict.MISSING
    assert found.verdict is (StatusVerdict.UNREACHABLE if knocked is SILENT else usual)
    assert says in found.message


def test_a_host_that_went_silent_is_unreachable_before_the_api_knows(environment: Environment) -> None:
    host = node("lab-node-0", pool="hosts", site="rack")
    observed = replace(seen(), cluster=ClusterView(nodes=(host,)), ssh_probes={"lab-node-0": SILENT})
    assert judge_nodes(environment, observed)[0].verdict is StatusVerdict.UNREACHABLE
    answers = replace(observed, ssh_probes={"lab-node-0": SshProbe(reached=True)})
    assert judge_nodes(environment, answers)[0].verdict is StatusVerdict.OK


PLUGIN = AddonView(name="nvidia-device-plugin", ready=1, wanted=2, on_gpus=True)


@pytest.mark.parametrize(
    ("held", "verdict"), [("NvmlMissing: no", StatusVerdict.UNKNOWN), ("", StatusVerdict.DEGRADED)]
)
def test_an_add_on_for_gpus_is_not_missed_where_they_are_not_in_service(
    environment: Environment, held: str, verdict: StatusVerdict
) -> None:
    nodes = (replace(CLUSTER.nodes[0], gpus=held), CLUSTER.nodes[1])
    observed = replace(seen(), cluster=ClusterView(nodes=nodes, addons=(PLUGIN, *CLUSTER.addons)))
    assert judge_addons(environment, observed)[0].verdict is verdict


@pytest.mark.parametrize(
    ("said", "lab", "verdict"),
    [
        ("NvmlMissing: no library", True, StatusVerdict.UNKNOWN),
        ("NvmlMissing: no library", False, StatusVerdict.UNHEALTHY),
        ("EccUncorrected: 3", True, StatusVerdict.UNHEALTHY),
    ],
)
def test_a_lab_without_gpus_is_not_ill_for_ever(
    environment: Environment, said: str, lab: bool, verdict: StatusVerdict
) -> None:
    nodes = (replace(CLUSTER.nodes[0], gpus=said), CLUSTER.nodes[1])
    found = judge_nodes(environment, replace(seen(), cluster=ClusterView(nodes=nodes)), lab=lab)
    assert found[0].verdict is verdict


@pytest.mark.parametrize(
    ("code", "stdout", "stderr", "found"),
    [
        (0, "", "", SshProbe(reached=True)),
        (
            0,
            "unhealthy kubelet.service has failed\n",
            "",
            SshProbe(reached=True, troubles=("kubelet.service has failed",)),
        ),
        (
            255,
            "",
            "ssh: connect to host a port 22: No route to host\r\n",
            SshProbe(reached=False, reason="ssh: connect to"),
        ),
        (255, "", "root@a: Permission denied (publickey).", SshProbe(reached=True, reason="root@a: Permission denied")),
        (
            127,
            "",
            "sh: not found",
            SshProbe(reached=True, troubles=("its services cannot be looked at: sh: not found",)),
        ),
    ],
)
def test_what_ssh_says(code: int, stdout: str, stderr: str, found: SshProbe) -> None:
    given = answer(code, stdout, stderr)
    assert (given.reached, given.troubles) == (found.reached, found.troubles)
    assert given.reason.startswith(found.reason)


def test_a_key_that_is_not_the_pinned_one_is_trouble() -> None:
    given = answer(255, "", "Host key verification failed.")
    assert given.reached
    assert "not the pinned one" in given.troubles[0]


def test_a_machine_has_ten_seconds(environment: Environment, monkeypatch: pytest.MonkeyPatch) -> None:
    gateway = next(machines(environment, plan(environment)))
    reach = Reach(known_hosts=Path("/pins"), control_folder=Path("/c"), user="root", key=None)

    def run(argv: list[str], *, timeout: float, **_: Any) -> None:
        after = argv.index("root@198.51.100.20") + 1
        assert argv[after:] == ["sh", "-s", "--", "longhaul-gateway-firewall.service", "strongswan.service"]
        assert {"ConnectTimeout=8", "ConnectionAttempts=1", "BatchMode=yes", "HostKeyAlias=lab-gw-0"} <= set(argv)
        assert timeout == 10
        raise subprocess.TimeoutExpired(argv, timeout)

    monkeypatch.setattr(subprocess, "run", run)
    assert probe(gateway, reach) == SshProbe(reached=False, reason="no answer within 10 s")
    assert probe(replace(gateway, host_key=None), reach).reached is None
