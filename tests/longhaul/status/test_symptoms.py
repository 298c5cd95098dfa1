"""Faults that ``status`` names with the command that looks and the command that mends."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from components.model import Environment, control_machines, load, plan
from contract.documents.node_answers import MachineCheck
from contract.reasons.status import StatusReason
from lab.__main__ import _parser as lab_parser
from longhaul import cli
from longhaul.cluster.nodes import node as node_view
from longhaul.control_plane.node_answers import NodeAnswer
from longhaul.report.status_verdict import StatusVerdict
from longhaul.status.observed import CloudView, ClusterView, LateLease, Observed
from longhaul.status.ssh_probes import SshProbe
from longhaul.status.symptom import SymptomSubject
from longhaul.status.symptoms import SYMPTOMS
from longhaul.status.text import to_text
from longhaul.status.verdicts import Status, judge
from longhaul.status.waiting_pods import WaitingPod
from tests.longhaul.status.test_fleet import item
from tests.longhaul.status.test_status import CLUSTER, REACHED, RUNNING, TUNNELS, tunnel

HOST = "lab-node-0"
STOPPED = SshProbe(reached=True, troubles=("kubelet.service does not run (inactive (dead), Result=success)",))
MEND_HOST = f"to mend: `longhaul hosts --env lab --limit {HOST}`"


@pytest.fixture(name="environment", scope="module")
def _environment(root: Path) -> Environment:
    return load(root / "stacks" / "Pulumi.lab.yaml")


def judged(environment: Environment, **parts: Any) -> Status:
    """Return the status of an environment with these parts; without any, everything is healthy."""
    machines = control_machines(environment, plan(environment))
    answers = {machine.name: NodeAnswer(ready=True) for machine in machines}
    observed = Observed(
        **{
            "cloud": {machine.name: RUNNING for machine in machines},
            "answers": answers,
            "endpoint": REACHED,
            "tunnels": TUNNELS,
            "cluster": CLUSTER,
            "ssh_probes": {"lab-gw-0": SshProbe(reached=True)},
            **parts,
        },
    )
    return judge(environment, machines, observed, inside=True)


def late(seconds: int) -> ClusterView:
    """Return the cluster with both kubelets silent for so long."""
    lease = LateLease(age=timedelta(seconds=seconds), expired=seconds > 40)
    return replace(CLUSTER, late={view.name: lease for view in CLUSTER.nodes})


def test_without_a_fault_no_command_is_named(environment: Environment) -> None:
    status = judged(environment)
    assert status.healthy
    assert "to look" not in to_text(status, colour=False)


def test_a_silent_kubelet_is_noticed_when_its_lease_ends_before_kubernetes_does(environment: Environment) -> None:
    status = judged(environment, cluster=late(41))
    machine, host = status.nodes
    assert {view.ready for view in CLUSTER.nodes} == {True}, "Kubernetes waits for 50 s"
    assert {(node.verdict, node.reason) for node in status.nodes} == {
        (StatusVerdict.UNHEALTHY, StatusReason.KUBELET_SILENT)
    }
    assert host.message.startswith(
        "its kubelet has been silent for 41 s; to look: `longhaul shell --env lab lab-node-0"
    )
    assert MEND_HOST in host.message
    assert "to mend: `longhaul shell --env lab i-1 -- systemctl restart kubelet`" in machine.message
    assert {pool.ready for pool in status.pools} == {0}
    assert judged(environment, cluster=late(39)).healthy


def test_a_host_whose_kubelet_was_stopped_says_so_before_its_lease_ends(environment: Environment) -> None:
    probes = {"lab-gw-0": SshProbe(reached=True), HOST: STOPPED}
    _, host = judged(environment, cluster=late(15), ssh_probes=probes).nodes
    assert (host.verdict, host.reason) == (StatusVerdict.UNHEALTHY, StatusReason.CHECKS_FAILED)
    assert host.message.startswith(STOPPED.troubles[0])
    assert MEND_HOST in host.message


def test_a_node_with_a_full_disk_is_degraded(environment: Environment) -> None:
    full = item("i-1", "True")
    condition = {"type": "DiskPressure", "status": "True", "message": "kubelet has disk pressure"}
    full["status"]["conditions"].append(condition)
    cluster = replace(CLUSTER, nodes=(node_view(full), CLUSTER.nodes[1]))
    (view, _) = judged(environment, cluster=cluster).nodes
    assert (view.verdict, view.reason) == (StatusVerdict.DEGRADED, StatusReason.NODE_PRESSURE)
    assert "kubelet has disk pressure; to look: `longhaul shell --env lab i-1 -- df -h" in view.message


def test_a_stopped_daemon_of_a_gateway_and_its_links_have_commands(environment: Environment) -> None:
    probes = {"lab-gw-0": SshProbe(reached=True, troubles=("strongswan.service does not run",))}
    tunnels = (*TUNNELS[:2], tunnel("weu-rack", "weu", up=False), *TUNNELS[3:])
    status = judged(environment, ssh_probes=probes, tunnels=tunnels)
    assert "to mend: `longhaul hosts --env lab --limit lab-gw-0`" in status.gateways[0].message
    (link,) = [link for link in status.links if link.verdict is not StatusVerdict.OK]
    assert "to mend: `longhaul hosts --env lab --limit gateways`" in link.message


def test_an_unready_member_and_a_missing_add_on_have_commands(environment: Environment) -> None:
    answers = {
        machine.name: NodeAnswer(ready=machine.name != "lab-etcd-0")
        for machine in control_machines(environment, plan(environment))
    }
    status = judged(environment, answers=answers, cluster=replace(CLUSTER, addons=CLUSTER.addons[1:]))
    member = next(machine for machine in status.machines if machine.name == "lab-etcd-0")
    assert "to mend: `longhaul up --env lab --replace lab-etcd-0`, if it stays so" in member.message
    addon = next(addon for addon in status.addons if addon.verdict is StatusVerdict.MISSING)
    assert "to mend: `longhaul up --env lab --only objects`" in addon.message


def test_pods_that_wait_are_told_and_are_no_fault(environment: Environment) -> None:
    since = Observed(cloud={}, endpoint=REACHED).now - timedelta(minutes=30)
    reason = StatusReason.VOLUME_NOT_BOUND
    pod = WaitingPod(namespace="team", name="p", since=since, reason=reason, message="why", subject="data")
    status = judged(environment, cluster=replace(CLUSTER, pods=(pod,)))
    assert status.healthy
    text = to_text(status, colour=False)
    assert re.search(r"^pods +waiting +1 pod without their volume; team/p for 30 min: why; to look", text, re.MULTILINE)
    assert text.endswith("lab: all is healthy; 1 pod does not start")


def test_every_command_is_one_and_every_reason_of_a_subject_has_one_symptom() -> None:
    names = {"env": "lab", "name": "tunnels", "namespace": "n", "claim": "c"}
    for symptom in SYMPTOMS:
        in_text = re.findall(r"`((?:longhaul|python -m lab) [^`]+)`", f"{symptom.advice} {symptom.lab}")
        for words in (shlex.split(part.format(**names)) for part in [symptom.look, symptom.mend, *in_text] if part):
            if words[0] == "longhaul":
                assert cli.parse(words[1:]).command == words[1]
            elif words[0] == "python":
                assert lab_parser().parse_args(words[3:]).verb == words[3]
            else:
                assert words[0] == "kubectl"
    keys = [(symptom.subject, reason, symptom.words) for symptom in SYMPTOMS for reason in symptom.reasons]
    assert len(keys) == len(set(keys))
    assert {subject for subject, *_ in keys} == {*SymptomSubject}


def test_a_symptom_with_words_comes_before_the_one_of_any_message() -> None:
    any_message = set[tuple[SymptomSubject | None, StatusReason]]()
    for symptom in SYMPTOMS:
        pairs = {(symptom.subject, reason) for reason in symptom.reasons}
        assert pairs.isdisjoint(any_message)
        any_message |= pairs if not symptom.words else set()


def test_every_message_of_status_is_plain_text() -> None:
    """Only the page shows links. A cordoned node is ok, so its row is for the page."""
    for symptom in SYMPTOMS:
        if symptom.subject and StatusReason.CORDONED not in symptom.reasons:
            assert "](" not in symptom.sentence(env="e", name="n", namespace="n", claim="c", in_lab=True)


def machines(environment: Environment, *, cloud: CloudView | None = RUNNING, detail: str = "") -> dict[str, str]:
    """Return the messages about machines when the first member's machine is so."""
    names = [machine.name for machine in control_machines(environment, plan(environment))]
    view = {} if cloud is None else {"lab-etcd-0": cloud}
    bad = NodeAnswer(ready=False, checks=(MachineCheck(name="healthy", ok=False, detail=detail),))
    answers = {"lab-etcd-0": bad} if cloud is RUNNING else {}
    status = judged(
        environment,
        cloud={**dict.fromkeys(names[1:], RUNNING), **view},
        answers={**{name: NodeAnswer(ready=True) for name in names[1:]}, **answers},
    )
    return {machine.name: machine.message for machine in status.machines}


def test_a_machine_that_is_off_or_gone_is_mended_by_up_alone(environment: Environment) -> None:
    off = machines(environment, cloud=CloudView(provisioning="Succeeded", power="stopped"))["lab-etcd-0"]
    gone = machines(environment, cloud=None)["lab-etcd-0"]
    assert off.startswith("the cloud reports that it is stopped; to mend: `longhaul up --env lab`, which starts it")
    assert "not in the cloud; to mend: `longhaul up --env lab`, which" in gone


@pytest.mark.parametrize(
    ("detail", "command"),
    [
        ("alarm NOSPACE: full: `longhaul up --reclaim etcd`", "longhaul up --env lab --reclaim etcd --only"),
        ("the data disk is full: 0 MiB free", "longhaul up --env lab --replace lab-etcd-0`, or delete what"),
        (
            "started: the data on this disk is of member 4f, which was removed from the cluster",
            "lab-etcd-0`, which makes",
        ),
        ("fdatasync takes 9 ms", "longhaul shell --env lab lab-etcd-0 -- journalctl --unit longhaul-disk-gate"),
    ],
)
def test_a_fault_of_etcd_has_the_commands_of_its_message(environment: Environment, detail: str, command: str) -> None:
    message = machines(environment, detail=detail)["lab-etcd-0"]
    assert command in message
    assert "if it stays so" not in message


def test_the_alarm_corrupt_names_the_machine_to_replace_alone(environment: Environment) -> None:
    detail = "alarm CORRUPT, the cluster refuses writes: `longhaul up --replace lab-etcd-2`"
    assert machines(environment, detail=detail)["lab-etcd-0"] == f"healthy: {detail}"


def test_in_a_lab_the_command_of_its_power_switch_is_named_too(environment: Environment) -> None:
    silent = {"lab-gw-0": SshProbe(reached=False, reason="no answer")}
    gateway = judged(environment, ssh_probes=silent).gateways[0].message
    assert (
        "in a lab also: `python -m lab status --env lab` names what is off or cut; `python -m lab power lab-gw-0 on"
        in gateway
    )
