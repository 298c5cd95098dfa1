"""Remove a member from its etcd cluster for good, before its machine is deleted."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence

from machine.config import client_url, peer_url

from contract.documents.node import NodeConfig
from contract.documents.node_answers import Removal
from etcd import corrupt_alarm
from etcd.client import Etcdctl, EtcdError, EtcdMembers, Member

PATIENCE_S = 15.0
"""Longest time in seconds for which the removal is tried. etcd counts a silent member as present until its connection
has timed out, and refuses for 5 s after another member's arrival (etcd 3.6, server/etcdserver/server.go,
``mayRemoveMember``)."""

RETRY_S = 1.0


def remove(node: NodeConfig, etcdctl: Etcdctl, *, name: str, if_dead: bool = False) -> Removal:
    """Remove the member ``name`` unless the remaining members would have no quorum. With ``if_dead``, remove the member
    only if it is not healthy. A leader hands over first, so that no client waits for an election."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        removal = _tried(node, etcdctl, name, if_dead=if_dead)
        if removal.removed or removal.alive or time.monotonic() + RETRY_S > deadline:
            return removal
        time.sleep(RETRY_S)


def _tried(node: NodeConfig, etcdctl: Etcdctl, name: str, *, if_dead: bool) -> Removal:
    address = node.stores[node.role].get(name, "")
    others = (other for other in (node.address, *node.peers.values()) if other != address)
    cluster = etcdctl.first_cluster(client_url(other) for other in others)
    if cluster is None:
        return Removal(removed=False, reason="no other member answers with a quorum")
    leaving = [member for member in cluster.members if member.name == name or _is_at(member, node, address)]
    if not leaving:
        return _lifted(etcdctl, cluster, f"{name} is no member of cluster {cluster.id:x}")
    corrupt = corrupt_alarm.excuse(etcdctl, cluster, leaving)
    if if_dead and any(corrupt_alarm.stands(member, etcdctl, corrupt) for member in leaving):
        return Removal(removed=False, alive=True, reason=f"{name} is alive")
    remaining = [member for member in cluster.members if member not in leaving and not member.learner]
    healthy = [member for member in remaining if corrupt_alarm.stands(member, etcdctl, corrupt)]
    quorum = len(remaining) // 2 + 1
    if len(healthy) < quorum:
        few = f"{len(healthy)} healthy of {len(remaining)} voting members would remain without {name}"
        why = corrupt_alarm.alarm_message(etcdctl, cluster.endpoint)
        return Removal(removed=False, reason=f"{few}, {quorum} are needed{f'; {why}' if why else ''}")
    try:
        _hand_over(etcdctl, cluster, {*corrupt, *(member.id for member in leaving)}, to=healthy[0])
        for member in leaving:
            etcdctl.remove(cluster.endpoint, member.id)
    except EtcdError as error:
        return Removal(removed=False, reason=str(error))
    return _lifted(etcdctl, cluster, f"{name} is out of cluster {cluster.id:x}", gone=leaving)


def _lifted(etcdctl: Etcdctl, cluster: EtcdMembers, reason: str, *, gone: Sequence[Member] = ()) -> Removal:
    """Lift an alarm that names only removed members, and return the result of the removal."""
    try:
        corrupt_alarm.lift(etcdctl, cluster, gone=gone)
    except EtcdError as error:
        return Removal(removed=False, reason=f"{reason}, and the alarm could not be lifted: {error}")
    return Removal(removed=True, reason=reason)


def _is_at(member: Member, node: NodeConfig, address: str) -> bool:
    """Return whether a member has an address. A member that never started has no name, so its address identifies it. An
    empty address stands for the learner, whose address is not among the addresses in the machine's description."""
    if address:
        return peer_url(address) in member.peer_urls
    known = {peer_url(place) for place in node.stores[node.role].values()}
    return not member.name and known.isdisjoint(member.peer_urls)


def _hand_over(etcdctl: Etcdctl, cluster: EtcdMembers, away: Collection[int], *, to: Member) -> None:
    """Make ``to`` the leader if a member of ``away`` leads. ``away`` has the ids of members that leave, and of corrupt
    members, because a successor gets its data from the leader."""
    leader = etcdctl.status(cluster.endpoint).leader
    if leader in away:
        leads = next(member for member in cluster.members if member.id == leader)
        etcdctl.move_leader(leads.client_urls[0], to.id)
