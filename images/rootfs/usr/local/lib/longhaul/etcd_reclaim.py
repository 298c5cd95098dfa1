"""Give an etcd cluster room again when its database has reached its quota, and lift the alarm.

History is dropped up to the newest revision, then each member rewrites its database without what was dropped: one at a
time, since a member answers nobody meanwhile, and never the leader: it hands over first. What is stored stays.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from etcd_client import Cluster, Etcdctl, EtcdError, Member, Status
from node_config import Node, client_url

COMMAND_S = 600.0
"""Time limit in seconds of a member's defragmentation, for 8 GiB on a local SSD, and of the compaction."""

BACK_S = 60.0
"""Seconds that a member may take to answer again after its defragmentation, or another to lead."""

RETRY_S = 0.5

COMPACTED = "required revision has been compacted"
"""Part of etcd's error message: somebody else was quicker (etcd 3.6, api/v3rpc/rpctypes)."""


@dataclass(frozen=True, kw_only=True)
class Reclaimed:
    """Result of :func:`reclaim`."""

    done: bool
    reason: str
    sizes: dict[str, tuple[int, int]]
    """Size of each member's database before and after, bytes."""


def reclaim(node: Node, etcdctl: Etcdctl) -> Reclaimed:
    """Compact the etcd cluster, defragment its members and disarm its alarms. A member that does not answer is left
    out, as long as a quorum does: it is told in the reason."""
    cluster = etcdctl.first_cluster(client_url(address) for address in (node.address, *node.peers.values()))
    if cluster is None:
        return Reclaimed(done=False, reason="no member answers with a quorum", sizes={})
    sizes: dict[str, tuple[int, int]] = {}
    silent = []
    try:
        _compact(etcdctl, cluster)
        for member in _followers_first(etcdctl, cluster):
            before = _status(etcdctl, member)
            if before is None:
                silent.append(member.name)
                continue
            sizes[member.name] = (before.db_size, _defragment(etcdctl, cluster, member))
        etcdctl.disarm(cluster.endpoint)
    except EtcdError as error:
        return Reclaimed(done=False, reason=str(error), sizes=sizes)
    left = f"; {', '.join(silent)} did not answer and kept what it has" if silent else ""
    return Reclaimed(done=True, reason=f"{len(sizes)} members have room again{left}", sizes=sizes)


def _compact(etcdctl: Etcdctl, cluster: Cluster) -> None:
    revision = etcdctl.status(cluster.endpoint).revision
    try:
        etcdctl.compact(cluster.endpoint, revision, limit_s=COMMAND_S)
    except EtcdError as error:
        if COMPACTED not in str(error):
            raise


def _followers_first(etcdctl: Etcdctl, cluster: Cluster) -> list[Member]:
    leader = etcdctl.status(cluster.endpoint).leader
    started = [member for member in cluster.members if member.client_urls]
    return sorted(started, key=lambda member: member.id == leader)


def _status(etcdctl: Etcdctl, member: Member) -> Status | None:
    try:
        return etcdctl.status(member.client_urls[0])
    except EtcdError:
        return None


def _defragment(etcdctl: Etcdctl, cluster: Cluster, member: Member) -> int:
    """Defragment one member, and return the size of its database afterwards."""
    endpoint = member.client_urls[0]
    _hand_over(etcdctl, cluster, member)
    etcdctl.defragment(endpoint, limit_s=COMMAND_S)
    deadline = time.monotonic() + BACK_S
    while (after := _status(etcdctl, member)) is None or not after.leader:
        if time.monotonic() > deadline:
            raise EtcdError(f"{endpoint} does not answer after its defragmentation; the others were left as they are")
        time.sleep(RETRY_S)
    return after.db_size


def _hand_over(etcdctl: Etcdctl, cluster: Cluster, member: Member) -> None:
    """Make another member that votes and answers the leader, if ``member`` leads and there is one."""
    if etcdctl.status(member.client_urls[0]).leader != member.id:
        return
    for other in cluster.members:
        if other.id != member.id and not other.learner and other.client_urls and _status(etcdctl, other) is not None:
            etcdctl.move_leader(member.client_urls[0], other.id)
            return
