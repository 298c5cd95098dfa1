"""Compare the data of this member with the others', once it answers, and fail when no other member agrees: systemd then
ends it, so that only this member refuses requests.

etcd compares at its start (``InitialCorruptCheck``), but skips all members that have dropped more of the history than
this one, and they drop some every five minutes (etcd 3.6, server/etcdserver/corrupt.go, ``InitialCheck``). The leader
then finds the difference later, and the whole cluster refuses writes (:mod:`etcd.corruption`). As soon as this
member follows the others, it has dropped as much as they have, and can be compared.
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
"""Seconds for which a comparison is tried. Others may be starting as well. A joining member may take longer to catch
up, but it has no data of its own to compare."""

RETRY_S = 0.5

HASH_S = 60.0
"""Time limit of one answer in seconds: a member reads all of its data for it."""


def compared(node: NodeConfig, etcdctl: Etcdctl) -> bool | None:
    """Return whether the data equals that of another member, at one revision; True when there is no other member.
    Return None when no member that answers has dropped exactly as much of the history. Raise ``EtcdError`` when this
    member does not answer."""
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
    """Return whether the member may go on: it agrees with another one, or cannot be compared within
    :data:`PATIENCE_S`."""
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
    """Return 0 when the member may continue; return 1, after a line in the form of etcd's last one, when it may not."""
    node = NodeConfig.read()
    if verdict(node, Etcdctl(certificate=PKI / "client.pem", authority=PKI / "etcd-ca.crt", limit_s=HASH_S)):
        return 0
    print(json.dumps({"level": "fatal", "msg": "found data inconsistency with peers"}), file=sys.stderr)
    return 1
