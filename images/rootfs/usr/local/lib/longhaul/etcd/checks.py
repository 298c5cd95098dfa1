"""Health checks of an etcd member and of its etcd cluster."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from backup.schedule import MOST_BEHIND
from disks import gate as disk_gate
from machine.config import client_url

from contract.documents.node import NodeConfig
from contract.documents.node_answers import MachineCheck, MemberReport, Survival
from etcd import corrupt_alarm, exit_reason
from etcd.client import NOSPACE, Etcdctl, EtcdError, EtcdMembers, EtcdMemberStatus, Member, answering

ROOM_BYTES = 1 << 30
"""Free space in bytes below which a data disk counts as full. etcd's log grows by files of 64 MB, and a member that
cannot write ends."""


def checks(node: NodeConfig, etcdctl: Etcdctl) -> tuple[str, tuple[MachineCheck, ...]]:
    """Return the id of the etcd cluster in hexadecimal (empty if this member does not answer), and the checks of the
    member: the disk's speed and free space, the start, the version, the vote and the quorum. The learner's checks are
    instead that it is a learner and that it keeps up."""
    endpoint = client_url(node.address)
    disk = (*disk_checks(disk_gate.RECORD), *room_checks(disk_gate.DISK))
    try:
        status = etcdctl.status(endpoint)
    except EtcdError as error:
        why = exit_reason.exit_reason()
        detail = f"{error}; {why}" if why else str(error)
        return "", (*disk, MachineCheck(name="started", ok=False, detail=detail))
    return f"{status.cluster:x}", (
        *disk,
        MachineCheck(name="started", ok=True, detail=f"member {status.member:x} of cluster {status.cluster:x}"),
        *(_follows(node, etcdctl, status) if node.learner else _votes(node, etcdctl, endpoint, status)),
        MachineCheck(
            name="version",
            ok=status.version == node.version,
            detail=f"runs {status.version}, the environment wants {node.version}",
        ),
    )


def _votes(node: NodeConfig, etcdctl: Etcdctl, endpoint: str, status: EtcdMemberStatus) -> tuple[MachineCheck, ...]:
    ailment = etcdctl.ailment(endpoint)
    return (
        MachineCheck(
            name="voting",
            ok=not status.learner,
            detail="is a learner still" if status.learner else "is a voting member",
        ),
        MachineCheck(
            name="quorum", ok=not ailment, detail=_described(ailment, node, etcdctl) if ailment else "commits"
        ),
    )


def _follows(node: NodeConfig, etcdctl: Etcdctl, status: EtcdMemberStatus) -> tuple[MachineCheck, ...]:
    """Return the checks of the member that never votes. This member serves no reads that need a quorum, so its revision
    is compared with the revisions of the other members."""
    newest = max((answer.revision for answer in _answers(node, etcdctl)), default=None)
    behind = None if newest is None else max(0, newest - status.revision)
    if behind is None:
        check = MachineCheck(
            name="follows", ok=False, detail=f"no voting member answers; it has revision {status.revision}"
        )
    else:
        detail = f"{behind} revisions behind" if behind else "has the newest revision"
        check = MachineCheck(name="follows", ok=behind <= MOST_BEHIND, detail=detail)
    return (
        MachineCheck(
            name="learner",
            ok=status.learner,
            detail="is a learner, as declared" if status.learner else "votes, and is declared as a learner",
        ),
        check,
    )


def _answers(node: NodeConfig, etcdctl: Etcdctl) -> Iterator[EtcdMemberStatus]:
    """Yield the state of each other member that answers."""
    for endpoint in answering(client_url(address) for address in node.peers.values()):
        with suppress(EtcdError):
            yield etcdctl.status(endpoint)


def disk_checks(record: Path) -> tuple[MachineCheck, ...]:
    """Return the check of the disk's syncs; none if the syncs were not measured."""
    measured = disk_gate.Measured.read(record)
    return (MachineCheck(name="disk", ok=measured.fast_enough, detail=str(measured), final=True),) if measured else ()


def room_checks(disk: Path) -> tuple[MachineCheck, ...]:
    """Return the check of the data disk's free space; none if the disk is not mounted."""
    if not disk.is_mount():
        return ()
    free = shutil.disk_usage(disk).free
    if free >= ROOM_BYTES:
        return (MachineCheck(name="room", ok=True, detail=f"{free >> 30} GiB free"),)
    detail = (
        f"the data disk is full: {free >> 20} MiB free at {disk}, and a member that cannot write ends. Delete what is "
        "not etcd's, or replace the machine: `longhaul up --replace`"
    )
    return (MachineCheck(name="room", ok=False, detail=detail),)


def _described(ailment: str, node: NodeConfig, etcdctl: Etcdctl) -> str:
    """Return the description of a member's problem, with advice if the problem is an alarm of the whole cluster."""
    if NOSPACE in ailment:
        return (
            f"alarm {NOSPACE}: a database has reached its quota, and the cluster refuses writes until it has room: "
            f"`longhaul up --reclaim {node.role}`"
        )
    corrupt = (
        corrupt_alarm.alarm_message(etcdctl, client_url(node.address)) if corrupt_alarm.is_corrupt(ailment) else ""
    )
    return corrupt or f"does not commit, or has an alarm: {ailment}"


def members(node: NodeConfig, etcdctl: Etcdctl) -> tuple[str, tuple[MemberReport, ...]]:
    """Return the id of the etcd cluster in hexadecimal, and every member. Both are empty if no member answers with a
    quorum."""
    cluster = _cluster(node, etcdctl)
    if cluster is None:
        return "", ()
    return f"{cluster.id:x}", tuple(_report(member, etcdctl) for member in cluster.members)


def survival(node: NodeConfig, etcdctl: Etcdctl, *, without: str) -> Survival:
    """Return whether the healthy voters other than ``without`` are a quorum of all voters."""
    cluster = _cluster(node, etcdctl)
    if cluster is None:
        return Survival(
            without=without,
            member=False,
            voters=0,
            quorum=0,
            healthy_without=0,
            survives=False,
            reason="no member answers with a quorum, so there is none to lose",
        )
    voters = [member for member in cluster.members if not member.learner]
    quorum = len(voters) // 2 + 1
    corrupt = corrupt_alarm.excuse(etcdctl, cluster, [member for member in cluster.members if member.name == without])
    standing = sum(corrupt_alarm.stands(member, etcdctl, corrupt) for member in voters if member.name != without)
    why = corrupt_alarm.alarm_message(etcdctl, cluster.endpoint) if standing < quorum else ""
    present = any(member.name == without for member in cluster.members)
    return Survival(
        without=without,
        member=present,
        voters=len(voters),
        quorum=quorum,
        healthy_without=standing,
        survives=standing >= quorum,
        reason=f"{standing} healthy of {len(voters)} voting members remain without {without}, {quorum} are needed"
        f"{f'; {why}' if why else ''}",
    )


def _cluster(node: NodeConfig, etcdctl: Etcdctl) -> EtcdMembers | None:
    addresses = (node.address, *node.peers.values())
    return etcdctl.first_cluster(client_url(address) for address in addresses)


def healthy(member: Member, etcdctl: Etcdctl) -> bool:
    """Return whether a member commits through a quorum."""
    return bool(member.client_urls) and etcdctl.healthy(member.client_urls[0])


def _report(member: Member, etcdctl: Etcdctl) -> MemberReport:
    leader, size, revision = False, 0, 0
    if member.client_urls:
        try:
            status = etcdctl.status(member.client_urls[0])
            leader, size, revision = status.leader == member.id, status.db_size, status.revision
        except EtcdError:
            pass
    return MemberReport(
        name=member.name,
        id=f"{member.id:x}",
        # A learner answers no health query, because it serves no reads that need a quorum.
        healthy=healthy(member, etcdctl) if not member.learner else size > 0,
        leader=leader,
        learner=member.learner,
        db_size_bytes=size,
        revision=revision,
    )
