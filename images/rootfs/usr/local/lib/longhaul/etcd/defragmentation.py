"""Reclaim space in an etcd cluster whose database has reached its quota, and lift the alarm.

The history up to the newest revision is dropped. Then the members, one after the other, rewrite their databases without
the dropped history. A member answers no requests meanwhile, so a leader hands over first. Current values stay.

The learner is left out, because a learner cannot be defragmented. The learner's etcd has no quota, so it raises no
alarm.
"""

from __future__ import annotations

import fcntl
import time
from pathlib import Path

from machine.config import client_url, peer_url

from contract.documents.node import NodeConfig
from contract.documents.node_answers import Reclaimed
from etcd import corrupt_alarm
from etcd.client import NOSPACE, Etcdctl, EtcdError, EtcdMembers, EtcdMemberStatus, Member

LOCK = Path("/run/longhaul-reclaim.lock")
"""File that is locked during a reclaim. A run whose operator lost the connection may still be going on."""

COMMAND_S = 600.0
"""Longest duration in seconds of the compaction, and of a member's defragmentation, which is enough for 8 GiB on a
local SSD."""

BACK_S = 60.0
"""Longest time in seconds after a member's defragmentation until the member answers and knows a leader."""

RETRY_S = 0.5

COMPACTED = "required revision has been compacted"
"""Part of etcd's error message if another client has already compacted the revision (etcd 3.6, api/v3rpc/rpctypes)."""


def reclaim(node: NodeConfig, etcdctl: Etcdctl, *, lock: Path = LOCK) -> Reclaimed:
    """Compact the etcd cluster, defragment its members and lift its alarm. Only one reclaim runs at a time on a
    machine. Members that do not answer are left out, and the result's reason names them."""
    with lock.open("w") as lock_file:
        try:
            fcntl.flock(lock_file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return Reclaimed(done=False, reason="another reclaim is running on this machine: wait until it ends")
        return _reclaim(node, etcdctl)


def _reclaim(node: NodeConfig, etcdctl: Etcdctl) -> Reclaimed:
    cluster = etcdctl.first_cluster(client_url(address) for address in (node.address, *node.peers.values()))
    if cluster is None:
        return Reclaimed(done=False, reason="no member answers with a quorum", ask_another=True)
    sizes: dict[str, tuple[int, int]] = {}
    silent = []
    try:
        _check_joining(node, cluster)
        _check_alarms(etcdctl, cluster)
        _compact(etcdctl, cluster)
        for member in _followers_first(etcdctl, cluster):
            before = _status(etcdctl, member)
            if before is None:
                silent.append(member.name)
                continue
            sizes[member.name] = (before.db_size, _defragment(etcdctl, cluster, member))
        # Checked again, as late as possible: etcdctl lifts all alarms or none.
        _check_alarms(etcdctl, cluster)
        etcdctl.disarm(cluster.endpoint)
    except EtcdError as error:
        return Reclaimed(done=False, reason=str(error), sizes=sizes)
    left = f"; {', '.join(silent)} did not answer and kept what it has" if silent else ""
    return Reclaimed(done=True, reason=f"{len(sizes)} members have room again{left}", sizes=sizes)


def _check_joining(node: NodeConfig, cluster: EtcdMembers) -> None:
    """Raise ``EtcdError`` while a member joins. A joining member is a learner, which cannot be defragmented, but has a
    quota, so its copy of the leader's database would raise the alarm again."""
    local = {} if node.learner else {peer_url(node.address): node.machine}
    voting = local | {peer_url(address): name for name, address in node.peers.items()}
    for member in cluster.members:
        name = next((voting[url] for url in member.peer_urls if url in voting), None)
        if member.learner and name is not None:
            raise EtcdError(
                f"{name} joins and does not vote yet; nothing was begun: wait until `longhaul status` shows that it "
                f"votes, or replace it if it never will (`longhaul up --replace {name}`)"
            )


def _check_alarms(etcdctl: Etcdctl, cluster: EtcdMembers) -> None:
    """Raise ``EtcdError`` if there is another alarm than ``NOSPACE``, because etcdctl would lift that alarm too. An
    alarm ``CORRUPT`` that names no present member may be lifted."""
    names = {member.id: member.name for member in cluster.members}
    for alarm in etcdctl.alarms(cluster.endpoint):
        if alarm.name != NOSPACE and not corrupt_alarm.is_of_nobody(alarm, names):
            name = names.get(alarm.member)
            raise EtcdError(
                f"{name or f'{alarm.member:x}, which is no member any more,'} has the alarm {alarm.name}, so no alarm "
                f"was lifted: find its cause first{f' (`longhaul up --replace {name}` replaces it)' if name else ''}, "
                "and reclaim again. `etcdctl alarm disarm` on a member lifts all alarms, whatever their cause"
            )


def _compact(etcdctl: Etcdctl, cluster: EtcdMembers) -> None:
    revision = etcdctl.status(cluster.endpoint).revision
    try:
        etcdctl.compact(cluster.endpoint, revision, limit_s=COMMAND_S)
    except EtcdError as error:
        if COMPACTED not in str(error):
            raise


def _followers_first(etcdctl: Etcdctl, cluster: EtcdMembers) -> list[Member]:
    leader = etcdctl.status(cluster.endpoint).leader
    voting = [member for member in cluster.members if member.client_urls and not member.learner]
    return sorted(voting, key=lambda member: member.id == leader)


def _status(etcdctl: Etcdctl, member: Member) -> EtcdMemberStatus | None:
    try:
        return etcdctl.status(member.client_urls[0])
    except EtcdError:
        return None


def _defragment(etcdctl: Etcdctl, cluster: EtcdMembers, member: Member) -> int:
    """Defragment a member. Return the size of its database afterwards, in bytes."""
    endpoint = member.client_urls[0]
    _hand_over(etcdctl, cluster, member)
    etcdctl.defragment(endpoint, limit_s=COMMAND_S)
    deadline = time.monotonic() + BACK_S
    while (after := _status(etcdctl, member)) is None or not after.leader:
        if time.monotonic() > deadline:
            raise EtcdError(f"{endpoint} does not answer after its defragmentation; the others were left as they are")
        time.sleep(RETRY_S)
    return after.db_size


def _hand_over(etcdctl: Etcdctl, cluster: EtcdMembers, member: Member) -> None:
    """If ``member`` leads, make another voting member that answers the leader, if there is any."""
    if etcdctl.status(member.client_urls[0]).leader != member.id:
        return
    for other in cluster.members:
        if other.id != member.id and not other.learner and other.client_urls and _status(etcdctl, other) is not None:
            etcdctl.move_leader(member.client_urls[0], other.id)
            return
