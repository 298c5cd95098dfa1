"""Compare this member's data with the other members' data, once this member answers. If no other member has the same
data, fail: systemd then ends this member, so that only this member refuses requests.

etcd compares the data at its start (``InitialCorruptCheck``), but skips members that have dropped more of the history
than this member. Members drop history every five minutes (etcd 3.6, server/etcdserver/corrupt.go, ``InitialCheck``).
Without this program, the leader would find the difference later, and the whole cluster would refuse writes
(:mod:`etcd.corrupt_alarm`). Once this member follows the others, it has dropped the same history, so the data can be
compared.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable

from machine.config import PKI, client_url

from contract.documents.node import NodeConfig
from etcd.client import Etcdctl, EtcdError

PATIENCE_S = 15.0
"""Longest time in seconds for which a comparison is tried, because other members may be starting too. A joining member
may take longer to catch up, but has no earlier data to compare."""

RETRY_S = 0.5

HASH_S = 60.0
"""Longest duration of one answer in seconds. A member reads all of its data for the answer."""


def compared(node: NodeConfig, etcdctl: Etcdctl) -> bool | None:
    """Return whether this member's data equals another member's data at the same revision. Return True if there is no
    other member. Return None if no member that answers has dropped exactly the same history. Raise ``EtcdError`` if
    this member does not answer."""
    endpoint = client_url(node.address)
    others = [member for member in etcdctl.cluster(endpoint).members if endpoint not in member.client_urls]
    if not others:
        return True
    revision = etcdctl.status(endpoint).revision
    mine = etcdctl.hash(endpoint, revision)
    same: list[bool] = []
    for url in (other.client_urls[0] for other in others if other.client_urls):
        try:
            theirs = etcdctl.hash(url, revision)
        except EtcdError:
            continue
        if theirs.compacted == mine.compacted:
            same.append(theirs.value == mine.value)
    return any(same) if same else None


def verdict(
    node: NodeConfig,
    etcdctl: Etcdctl,
    *,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], object] = time.sleep,
) -> bool:
    """Return whether the member may go on. It may if another member has the same data, or if no comparison is possible
    within :data:`PATIENCE_S`."""
    deadline = clock() + PATIENCE_S
    while clock() < deadline:
        try:
            agreement = compared(node, etcdctl)
        except EtcdError:
            agreement = None
        if agreement is not None:
            return agreement
        sleep(RETRY_S)
    print(f"no other member answered within {PATIENCE_S:.0f} s: the comparison is skipped", flush=True)
    return True


def main() -> int:
    """Return 0 if the member may go on. Otherwise return 1, after a line like the one with which etcd itself ends in
    this case."""
    node = NodeConfig.read()
    if verdict(node, Etcdctl(certificate=PKI / "client.pem", authority=PKI / "etcd-ca.crt", limit_s=HASH_S)):
        return 0
    print(json.dumps({"level": "fatal", "msg": "found data inconsistency with peers"}), file=sys.stderr)
    return 1
