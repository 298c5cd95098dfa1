"""Tell kube-apiserver at its start which etcd members exist.

The machine's description names every address that an etcd cluster may ever have, so that a new member does not change
it. Most of these addresses do not exist, and kube-apiserver would try them for ever, from a client for each resource.
So this program asks each etcd cluster for its members. If the main etcd cluster does not answer, kube-apiserver gets
every address and finds the members that are up by then. The events etcd must not keep kube-apiserver from starting. If
the events etcd does not answer, kube-apiserver gets the relay's address instead (kube_apiserver/events_relay.py).
"""

from __future__ import annotations

from pathlib import Path

from etcd.client import Etcdctl, endpoints
from machine.config import PKI, client_url

from contract.documents.node import NodeConfig
from kube_apiserver import events_relay

ENVIRONMENT = Path("/run/longhaul-api/etcd-servers.env")


def servers(candidates: dict[str, str], etcdctl: Etcdctl) -> tuple[str, ...]:
    """Return the client URLs of an etcd cluster's members, sorted. If no member answers, return the client URLs of all
    candidates."""
    urls = [client_url(address) for address in candidates.values()]
    cluster = etcdctl.first_cluster(urls)
    member_urls = sorted(endpoints(cluster.members)) if cluster else []
    return tuple(member_urls or urls)


def events(candidates: dict[str, str], etcdctl: Etcdctl) -> tuple[str, ...]:
    """Return the client URLs of the events etcd's members, sorted. If no member answers, return the relay's URL."""
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
