"""Make this member a voting member as soon as it has caught up. The program ends once the member votes. On the declared
learner, which never votes, it ends at once."""

from __future__ import annotations

import sys
import time

from machine.config import PKI, client_url

from contract.documents.node import NodeConfig
from etcd.client import Etcdctl, EtcdError, EtcdMembers, endpoints

RETRY_S = 1.0
"""Seconds between attempts. Only an attempt shows whether the learner is in sync with the leader."""


def promote(node: NodeConfig, etcdctl: Etcdctl) -> bool:
    """Try once. Return True if this member votes now. Raise ``EtcdError`` if this member does not answer, or if the
    cluster refuses for now."""
    status = etcdctl.status(client_url(node.address))
    if not status.learner:
        return True
    cluster = etcdctl.first_cluster(client_url(address) for address in node.peers.values())
    if cluster is None:
        raise EtcdError("no other member answers with a quorum")
    etcdctl.promote(_voter(cluster), status.member)
    return True


def _voter(cluster: EtcdMembers) -> str:
    """Return the client URL of a voting member. Only voting members accept the request and forward it to the leader."""
    return next(endpoints(cluster.members), cluster.endpoint)


def main() -> int:
    """Return 0 once this member votes, or if it is the declared learner."""
    node = NodeConfig.read()
    if node.learner:
        print(f"{node.machine} stays a learner")
        return 0
    etcdctl = Etcdctl(certificate=PKI / "client.pem", authority=PKI / "etcd-ca.crt")
    reported = ""
    while True:
        try:
            if promote(node, etcdctl):
                print(f"{node.machine} votes")
                return 0
        except EtcdError as error:
            if str(error) != reported:
                reported = str(error)
                print(f"not yet: {reported}", file=sys.stderr, flush=True)
        time.sleep(RETRY_S)
