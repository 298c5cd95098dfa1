"""Verdicts about what was seen, and their display."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from clouds.azure import control
from clouds.azure.errors import AzureError
from clouds.base.control import CommandOutput, MachineView
from clouds.base.tunnels import TunnelView
from components.model import Environment, Machine, control_machines, load, plan
from components.model.backups.section import Backups
from components.model.control_plane.etcd import EtcdLearner
from contract.documents import node_answers
from contract.documents.node_answers import BackupState, MachineCheck, MemberReport, NewestBackup, NodeReport
from contract.reasons.status import StatusReason
from longhaul.cluster.nodes import NodeView
from longhaul.control_plane.node_answers import NodeAnswer, parse_answer
from longhaul.racks.inventory import OnpremMachine
from longhaul.report.status_verdict import StatusVerdict
from longhaul.status import collection
from longhaul.status.fleet import LinkStatus, judge_links
from longhaul.status.observed import AddonView, ApiEndpoint, CloudView, ClusterView, Observed, ReportedGroups
from longhaul.status.ssh_probes import SshProbe
from longhaul.status.text import to_json, to_text
from longhaul.status.verdicts import Status, judge
from longhaul.terminal.exits import CommandError, Exit

RUNNING = CloudView(provisioning="Succeeded", power="running")
RECIPIENT = "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"
REACHED = ApiEndpoint(url="https://api/readyz", reached=True, ready=True)
Judged = Callable[..., Status]


def tunnel(link: str, site: str, *, up: bool = True, **more: Any) -> TunnelView:
    return TunnelView(link=link, site=site, name=f"{link} {site}", up=up, reason="" if up else "it is down", **more)


TUNNELS = (
    tunnel("weu-use1", "weu", bytes_in=3 * 2**20, bytes_out=10, since="2026-01-02T03:04:05Z"),
    tunnel("weu-use1", "use1", since="2026-01-02T03:04:06+00:00"),
    tunnel("weu-rack", "weu", bytes_in=1, bytes_out=2),
    tunnel("use1-rack", "use1"),
    tunnel("use1-rack", "use1"),
)


def test_a_second_tunnel_of_aws_that_azure_does_not_hold_is_no_fault(environment: Environment) -> None:
    def link(*at_aws: bool) -> LinkStatus:
        ends = (tunnel("weu-use1", "weu"), *(tunnel("weu-use1", "use1", up=up) for up in at_aws))
        found = judge_links(environment, Observed(cloud={}, endpoint=REACHED, tunnels=ends))
        return next(one for one in found if one.name == "weu-use1")

    assert (link(True, False).verdict, link(False, True).tunnels) == (StatusVerdict.OK, 1)
    assert (link(False, False).verdict, link(False, False).up) == (StatusVerdict.DOWN, 0)


def node(name: str, *, pool: str, site: str, ready: bool = True) -> NodeView:
    reason = StatusReason.READY if ready else StatusReason.NODE_NOT_READY
    message = "" if ready else "the kubelet says nothing"
    created = "2026-01-02T03:04:05Z"
    return NodeView(
        name=name,
        site=site,
        pool=pool,
        ready=ready,
        reason=reason,
        message=message,
        created=created,
        version="v1",
    )


CLUSTER = ClusterView(
    nodes=(node("i-1", pool="cpu", site="use1"), node("lab-node-0", pool="hosts", site="rack")),
    addons=tuple(AddonView(name=f"coredns{site}", ready=2, wanted=2) for site in ("", "-use1", "-rack")),
)


@pytest.fixture(name="environment")
def _environment(root: Path) -> Environment:
    environment = load(root / "stacks" / "Pulumi.lab.yaml")
    control = environment.control_plane
    etcd = control.etcd.model_copy(update={"members": 3})
    events = control.events.model_copy(update={"members": 1})
    api = control.api.model_copy(update={"servers": 2})
    parts = {"etcd": etcd, "events": events, "api": api}
    return environment.model_copy(update={"control_plane": control.model_copy(update=parts)})


@pytest.fixture(name="machines")
def _machines(environment: Environment) -> tuple[Machine, ...]:
    return control_machines(environment, plan(environment))


def member(name: str, *, learner: bool = False, revision: int = 0) -> MemberReport:
    return MemberReport(
        name=name, id="1", healthy=True, leader=False, learner=learner, db_size_bytes=2**20, revision=revision
    )


@pytest.fixture(name="healthy")
def _healthy(machines: tuple[Machine, ...]) -> Observed:
    answers = {
        machine.name: NodeAnswer(
            ready=True,
            members=tuple(member(other.name) for other in machines if other.role is machine.role)
            if machine.role.is_etcd
            else (),
        )
        for machine in machines
    }
    cloud = {machine.name: RUNNING for machine in machines}
    return Observed(cloud=cloud, answers=answers, endpoint=REACHED, tunnels=TUNNELS, cluster=CLUSTER)


@pytest.fixture(name="judged")
def _judged(environment: Environment) -> Judged:
    def judged(machines: tuple[Machine, ...], observed: Observed, *, inside: bool = False) -> Status:
        return judge(environment, machines, observed, inside=inside)

    return judged


def verdicts(status: Status) -> dict[str, StatusVerdict]:
    return {
        **{machine.name: machine.verdict for machine in status.machines},
        **{etcd.name: etcd.verdict for etcd in status.etcd_clusters},
        "api": status.api.verdict,
    }


def without(observed: Observed, *names: str, cloud: bool = True) -> Observed:
    return replace(
        observed,
        cloud={name: view for name, view in observed.cloud.items() if not cloud or name not in names},
        answers={name: answer for name, answer in observed.answers.items() if name not in names},
    )


def test_all_well(judged: Judged, machines: tuple[Machine, ...], healthy: Observed) -> None:
    status = judged(machines, healthy)
    assert status.healthy
    assert set(verdicts(status).values()) == {StatusVerdict.OK}


def test_one_member_less_leaves_a_degraded_store(
    judged: Judged, machines: tuple[Machine, ...], healthy: Observed
) -> None:
    status = judged(machines, without(healthy, "lab-etcd-1"))
    found = verdicts(status)
    assert found["lab-etcd-1"] is StatusVerdict.MISSING
    assert found["etcd"] is StatusVerdict.DEGRADED
    assert found["events"] is StatusVerdict.OK
    assert not status.healthy


def test_two_members_less_lose_quorum(judged: Judged, machines: tuple[Machine, ...], healthy: Observed) -> None:
    status = judged(machines, without(healthy, "lab-etcd-1", "lab-etcd-2"))
    etcd = next(etcd for etcd in status.etcd_clusters if etcd.name == "etcd")
    assert etcd.verdict is StatusVerdict.DOWN
    assert etcd.message == "1 of 3 members healthy, quorum is 2: quorum lost, and there are no backups"


def test_a_lost_quorum_is_told_with_its_way_back(
    environment: Environment, machines: tuple[Machine, ...], healthy: Observed
) -> None:
    saved = environment.model_copy(update={"backups": Backups(recipients=(RECIPIENT,))})

    def reason(observed: Observed) -> str:
        etcd = judge(saved, machines, observed, inside=False).etcd_clusters[0]
        assert etcd.verdict is StatusVerdict.DOWN
        return etcd.message.partition(": ")[2].partition("; there is no backup")[0]

    lost = without(healthy, "lab-etcd-1", "lab-etcd-2", cloud=False)
    assert "restore with `longhaul restore --env lab --key KEYFILE`" in reason(lost)
    off = CloudView(provisioning="Succeeded", power="deallocated")
    still = replace(lost, cloud={**lost.cloud, "lab-etcd-1": off})
    assert reason(still) == "`longhaul up` starts machines that are off"
    half = NodeAnswer(ready=False, restore="daily/etcd/x")
    found = reason(replace(lost, answers={**lost.answers, "lab-etcd-1": half}))
    assert found.startswith("a restore of daily/etcd/x is incomplete, and `longhaul restore --env lab")


def with_learner(environment: Environment, healthy: Observed, *, revision: int) -> tuple[Environment, Observed]:
    """Return the environment with a learner, and what is seen when it has that revision and the members have 500."""
    control = environment.control_plane
    learner = EtcdLearner(zone="2", machine_type="Standard_D8s_v5")
    etcd = control.etcd.model_copy(update={"learner": learner})
    declared = environment.model_copy(update={"control_plane": control.model_copy(update={"etcd": etcd})})
    seen = (
        *(member(f"lab-etcd-{index}", revision=500) for index in range(3)),
        member("lab-etcd-learner", learner=True, revision=revision),
    )
    names = ("lab-etcd-learner", *(f"lab-etcd-{index}" for index in range(3)))
    answers = {**healthy.answers, **{name: NodeAnswer(ready=True, members=seen) for name in names}}
    return declared, replace(healthy, answers=answers, cloud={**healthy.cloud, "lab-etcd-learner": RUNNING})


def test_a_learner_that_is_away_or_behind_is_a_warning(environment: Environment, healthy: Observed) -> None:
    def status(observed: Observed) -> tuple[Status, str]:
        found = judge(declared, control_machines(declared, plan(declared)), observed, inside=False)
        return found, next(one.message for one in found.etcd_clusters[0].members if one.name == "lab-etcd-learner")

    declared, seen = with_learner(environment, healthy, revision=500)
    found, said = status(seen)
    assert (found.healthy, said) == (True, "learner, 1.0 MiB, has the newest revision")
    declared, seen = with_learner(environment, healthy, revision=123)
    assert status(seen)[1] == "learner, 1.0 MiB, 377 revisions behind"

    found, said = status(without(seen, "lab-etcd-learner", cloud=False))
    assert said == "its machine does not run; 377 revisions behind"
    assert found.etcd_clusters[0].verdict is StatusVerdict.DEGRADED
    assert found.etcd_clusters[0].message.startswith(
        "3 of 3 members healthy; 1 more may be lost; the learner: its machine"
    )
    assert verdicts(found)["lab-etcd-learner"] is StatusVerdict.DEGRADED

    # It is no member of a quorum.
    found, _ = status(without(seen, "lab-etcd-0", "lab-etcd-1"))
    assert found.etcd_clusters[0].message.startswith("1 of 3 members healthy, quorum is 2")


def test_a_stopped_machine_is_down_with_what_the_cloud_says(
    judged: Judged, machines: tuple[Machine, ...], healthy: Observed
) -> None:
    stopped = without(healthy, "lab-api-0", cloud=False)
    cloud = {**stopped.cloud, "lab-api-0": CloudView(provisioning="Succeeded", power="deallocated")}
    status = judged(machines, replace(stopped, cloud=cloud))
    machine = next(machine for machine in status.machines if machine.name == "lab-api-0")
    assert machine.verdict is StatusVerdict.DOWN
    assert "deallocated" in machine.message
    assert status.api.verdict is StatusVerdict.DEGRADED


def test_an_unready_machine_says_which_checks_failed(
    judged: Judged, machines: tuple[Machine, ...], healthy: Observed
) -> None:
    disk, quorum = (MachineCheck(name=name, ok=False, detail=why) for name, why in (("disk", "full"), ("quorum", "")))
    bad = NodeAnswer(ready=False, checks=(disk, MachineCheck(name="time", ok=True), quorum))
    status = judged(machines, replace(healthy, answers={**healthy.answers, "lab-events-0": bad}))
    machine = next(machine for machine in status.machines if machine.name == "lab-events-0")
    assert (machine.verdict, machine.message[:28]) == (StatusVerdict.UNHEALTHY, "disk: full; quorum; to look:")
    assert verdicts(status)["events"] is StatusVerdict.DOWN


def test_a_machine_that_nobody_declared_is_unexpected(
    judged: Judged, machines: tuple[Machine, ...], healthy: Observed
) -> None:
    status = judged(machines, replace(healthy, cloud={**healthy.cloud, "lab-etcd-9": RUNNING}))
    assert verdicts(status)["lab-etcd-9"] is StatusVerdict.UNEXPECTED
    assert not status.healthy


def test_a_member_that_nobody_declared_is_unexpected(
    judged: Judged, machines: tuple[Machine, ...], healthy: Observed
) -> None:
    answer = healthy.answers["lab-etcd-0"]
    listed = replace(answer, members=(*answer.members, member("lab-etcd-7")))
    status = judged(machines, replace(healthy, answers={**healthy.answers, "lab-etcd-0": listed}))
    etcd = next(etcd for etcd in status.etcd_clusters if etcd.name == "etcd")
    assert [(one.name, one.verdict) for one in etcd.members][-1] == ("lab-etcd-7", StatusVerdict.UNEXPECTED)
    assert etcd.verdict is StatusVerdict.DEGRADED


def test_a_member_outside_its_own_list_is_not_well(
    judged: Judged, machines: tuple[Machine, ...], healthy: Observed
) -> None:
    answer = replace(healthy.answers["lab-etcd-0"], members=(member("lab-etcd-1"), member("lab-etcd-2")))
    status = judged(machines, replace(healthy, answers={**healthy.answers, "lab-etcd-0": answer}))
    assert verdicts(status)["etcd"] is StatusVerdict.DEGRADED


@pytest.mark.parametrize(
    ("endpoint", "inside", "verdict"),
    [
        (ApiEndpoint(url="u", reached=False, reason="not reachable from here"), False, StatusVerdict.OK),
        (ApiEndpoint(url="u", reached=False, reason="not reachable from here"), True, StatusVerdict.UNHEALTHY),
        (ApiEndpoint(url="u", reached=True, reason="it answers 500"), False, StatusVerdict.UNHEALTHY),
    ],
)
def test_a_load_balancer_that_cannot_be_seen_is_no_fault(
    judged: Judged,
    machines: tuple[Machine, ...],
    healthy: Observed,
    endpoint: ApiEndpoint,
    inside: bool,
    verdict: StatusVerdict,
) -> None:
    status = judged(machines, replace(healthy, endpoint=endpoint), inside=inside)
    assert status.api.verdict is verdict
    assert endpoint.reason in status.api.message


def test_the_table_is_aligned_and_plain(judged: Judged, machines: tuple[Machine, ...], healthy: Observed) -> None:
    text = to_text(judged(machines, without(healthy, "lab-etcd-1")), colour=False)
    assert "\033" not in text
    block = text.split("\n\n")[0].splitlines()
    column = block[0].index("VERDICT")
    assert {line[column - 1] for line in block} == {" "}
    assert all(line[column] != " " for line in block)
    assert text.endswith("lab: not healthy")


def test_colour_changes_nothing_but_colour(judged: Judged, machines: tuple[Machine, ...], healthy: Observed) -> None:
    status = judged(machines, without(healthy, "lab-etcd-1"))
    coloured = to_text(status, colour=True)
    assert "\033[31mmissing" in coloured
    for code in ("\033[31m", "\033[32m", "\033[33m", "\033[0m"):
        coloured = coloured.replace(code, "")
    assert coloured == to_text(status, colour=False)


def test_json_has_stores_by_name(judged: Judged, machines: tuple[Machine, ...], healthy: Observed) -> None:
    content = json.loads(to_json(judged(machines, healthy)))
    assert content["healthy"] is True
    assert [one["healthy"] for one in content["etcd_clusters"]["etcd"]["members"]] == [True, True, True]


class FakeAzure:
    """The cloud, with the parts that a status asks for."""

    def __init__(self) -> None:
        self.together = threading.Barrier(2, timeout=60)

    def __call__(self, *, subscription: str, prefix: str) -> FakeAzure:
        return self

    def machines(self, group: str) -> list[MachineView]:
        assert group == "lab-weu"
        return [
            MachineView(name="lab-etcd-0", provisioning="Succeeded", power="running"),
            MachineView(name="lab-etcd-1", provisioning="Succeeded", power="stopped"),
            MachineView(name="lab-api-0", provisioning="Succeeded", power="running"),
        ]

    def run_command(self, _group: str, machine: str, script: str, *, timeout_s: float) -> CommandOutput:
        assert script == "longhaul-node status"
        assert timeout_s > 0
        self.together.wait()
        if machine == "lab-api-0":
            raise AzureError("the agent does not answer", code="TimedOut")
        return CommandOutput(
            stdout=node_answers.to_text(NodeReport(machine=machine, role="etcd", ready=True)), stderr=""
        )


def test_running_machines_are_asked_side_by_side(
    environment: Environment, machines: tuple[Machine, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(control, "AzureApi", FakeAzure())
    monkeypatch.setattr(collection, "ask_tunnels", lambda _environment: ((), {}))
    monkeypatch.setattr(
        collection, "ask_pool", lambda _environment, name, _cluster: ReportedGroups(error=f"not {name}")
    )
    knocked: list[str] = []

    def knock(asked: Iterable[OnpremMachine]) -> dict[str, SshProbe]:
        names = [one.name for one in asked]
        knocked.extend(names)
        return dict.fromkeys(names, SshProbe(reached=True))

    observed = collection.collect(environment, machines, identity=lambda: None, knock=knock)
    assert (observed.groups["cpu"].error, knocked) == ("not cpu", ["lab-gw-0"]), "the API told of no host"
    assert set(observed.cloud) == {"lab-etcd-0", "lab-etcd-1", "lab-api-0"}
    assert observed.answers["lab-etcd-0"].ready
    assert observed.answers["lab-api-0"].error == "the agent does not answer"
    assert set(observed.answers) == {"lab-etcd-0", "lab-api-0"}
    assert not observed.endpoint.reached


def test_a_cloud_that_does_not_answer_is_unreachable(
    environment: Environment, machines: tuple[Machine, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Silent(FakeAzure):
        def machines(self, group: str) -> list[MachineView]:
            raise AzureError("management.azure.com does not answer")

    monkeypatch.setattr(control, "AzureApi", Silent())
    with pytest.raises(CommandError) as refused:
        collection.collect(environment, machines, identity=lambda: None, knock=lambda _: {})
    assert refused.value.code is Exit.UNREACHABLE


@pytest.mark.parametrize("stdout", ["", "bash: longhaul-node: command not found", "[]", "{}"])
def test_nonsense_is_no_answer(stdout: str) -> None:
    answer = parse_answer(stdout, "")
    assert not answer.ready
    assert "no answer from longhaul-node" in answer.reason


NOW = datetime(2030, 1, 2, tzinfo=UTC)


def backed_up(minutes: float, **more: Any) -> BackupState:
    newest = NewestBackup(name="daily/x", made=NOW.timestamp() - 60 * minutes, size=5, revision=7, keys=3)
    return replace(BackupState(declared=True, looked=NOW.timestamp(), newest=newest), **more)


@pytest.mark.parametrize(
    ("told", "verdict", "reason"),
    [
        ([backed_up(4), backed_up(9)], StatusVerdict.OK, "3 of 3 members healthy; newest backup 4 min old"),
        ([backed_up(1, error="a hiccup")], StatusVerdict.OK, "newest backup 60 s old"),
        ([backed_up(16, error="PUT daily/x: the answer was 503")], StatusVerdict.DEGRADED, "16 min old: PUT daily/x"),
        ([backed_up(0, newest=None)], StatusVerdict.DEGRADED, "there is no backup: its turn has not come yet"),
        ([BackupState(declared=False, looked=1.0)], StatusVerdict.DEGRADED, "members do not know of backups yet"),
        ([], StatusVerdict.DEGRADED, "no member reports any"),
        ([backed_up(20, took_s=600.0)], StatusVerdict.OK, "newest backup 20 min old"),
        ([backed_up(46, took_s=600.0)], StatusVerdict.DEGRADED, "newest backup 46 min old: its turn"),
        (
            [backed_up(4, rejected=2, rejected_why="daily/x: it is empty")],
            StatusVerdict.DEGRADED,
            "4 min old; 2 blobs in the storage do not count as backups: daily/x: it is empty",
        ),
        ([backed_up(4, oldest={"frequent": NOW.timestamp() - 3.9 * 86400})], StatusVerdict.OK, "4 min old"),
        (
            [backed_up(4, oldest={"frequent": NOW.timestamp() - 4.1 * 86400})],
            StatusVerdict.DEGRADED,
            "nothing deletes old backups: the oldest frequent one is 4 d old, and 1 d are kept",
        ),
    ],
    ids=[
        *("good", "failed-once", "late", "none", "not-told", "old-image", "slow", "slow-and-late", "rejected"),
        *("old-ones", "too-old-ones"),
    ],
)
def test_an_etcd_cluster_is_degraded_when_its_newest_backup_is_too_old(
    environment: Environment,
    machines: tuple[Machine, ...],
    healthy: Observed,
    told: list[BackupState],
    verdict: StatusVerdict,
    reason: str,
) -> None:
    wanted = environment.model_copy(update={"backups": Backups(recipients=(RECIPIENT,))})
    answers = dict(healthy.answers)
    for index, backup in enumerate(told):
        answers[f"lab-etcd-{index}"] = replace(answers[f"lab-etcd-{index}"], backup=backup)
    etcd = judge(wanted, machines, replace(healthy, answers=answers, now=NOW), inside=False).etcd_clusters[0]
    assert (etcd.verdict, etcd.backup and etcd.backup.verdict) == (verdict, verdict)
    assert reason in etcd.message
