"""Tell kube-apiserver at its start which etcd members exist.

Its configuration names every address that an etcd cluster may ever have, so that a new member does not change it. Most
of them do not exist, and kube-apiserver would dial them for ever, from a client for each resource. So this program asks
the etcd cluster for its members. When it does not answer, kube-apiserver gets every address and finds the members that
are up by then. The events cluster must not keep it from starting: for that, it gets the relay's address instead
(kube_apiserver/events_relay.py).
"""

from __future__ import annotations

from pathlib import Path

from etcd.client import Etcdctl, endpoints
from machine.config import PKI, client_url

from contract.documents.node import NodeConfig
from kube_apiserver import events_relay

ENVIRONMENT = Path("/run/longhaul-api/etcd-servers.env")


def servers(candidates: dict[str, str], etcdctl: Etcdctl) -> tuple[str, ...]:
    """Return the client URLs of an etcd cluster's members, sorted; those of every candidate when no member answers."""
    urls = [client_url(address) for address in candidates.values()]
    cluster = etcdctl.first_cluster(urls)
    member_urls = sorted(endpoints(cluster.members)) if cluster else []
    return tuple(member_urls or urls)


def events(candidates: dict[str, str], etcdctl: Etcdctl) -> tuple[str, ...]:
    """Return the client URLs of the events etcd's members, sorted; the relay's when no member answers."""
    cluster = etcdctl.first_cluster(client_url(address) for address in candidates.values())
    return tuple(sorted(endpoints(cluster.members)) if cluster else ()) or (events_relay.URL,)


def environment(main: tuple[str, ...], events: tuple[str, ...]) -> str:
    """Return the environment file's text: the flags that name the etcd clusters."""
    return f"KUBE_APISERVER_ETCD=--etcd-servers={','.join(main)} --etcd-servers-overrides=/events#{';'.join(events)}\n"


def main() -> int:
    """Write the environment file."""
    node = NodeConfig.read()
    etcdctl = Etcdctl(certificate=PKI / "etcd-client.pem", authority=PKI / "etcd-ca.crt")
    stores = {"etcd": servers(node.stores["etcd"], etcdctl), "events": events(node.stores["events"], etcdctl)}
    ENVIRONMENT.write_text(environment(stores["etcd"], stores["events"]))
    print(f"etcd: {', '.join(stores['etcd'])}; events: {', '.join(stores['events'])}")
    return 0
