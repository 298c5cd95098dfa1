"""The configuration of a node's DNS cache (images/rootfs/etc/systemd/system/longhaul-node-dns.service).

It is CoreDNS with what Kubernetes' own cache for nodes has (kubernetes/kubernetes,
``cluster/addons/dns/nodelocaldns/nodelocaldns.yaml``), except that it asks for the cluster's names at its own site
first.
"""

from __future__ import annotations

from components.model import AddressPlan, Environment
from components.model.network.cluster_dns import pod_name_servers
from components.render.coredns import api_directive, forward_directive
from components.render.documents import HEADER, yaml_document
from components.render.file import File
from contract.node_dns import ADDRESS, COREFILE, KUBELET_SETTING, METRICS_PORT, PLACES, RESOLVER
from contract.object_names import CLUSTER_DOMAIN


def node_dns_files(environment: Environment, addresses: AddressPlan, site: str) -> dict[str, File]:
    """Return the files of the cache of a site's nodes, by path."""
    setting = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        # A resolver takes the second when the first refuses, does not answer or fails, and musl's asks both at once and
        # takes the first answer (musl 1.2, src/network/res_msend.c). So both are of the site: servers of another may
        # know another answer, or that there is none.
        "clusterDNS": [ADDRESS, str(pod_name_servers(addresses, site)[0])],
    }
    return {
        COREFILE: File(content=HEADER + corefile(environment, addresses, site)),
        KUBELET_SETTING: File(content=HEADER + yaml_document(setting)),
    }


def corefile(environment: Environment, addresses: AddressPlan, site: str) -> str:
    """Return the cache's configuration.

    The cluster's names, and reverse names of the supernet, are asked of the site's own Service, and of all sites' when
    that does not answer; where a site has no servers, kube-proxy refuses the connection at once. The two have places of
    their own (``max_concurrent``): servers pass reverse names of machines on, maybe to one that does not answer. Over
    TCP, because a lost datagram costs a resolver five seconds. A server's health is asked by a name of the cluster: by
    CoreDNS's default, the root's, it would be down whenever its site's resolver is. All other names are asked of the
    machine's own resolver, which knows the site's private zones. An answer that cannot be renewed within a second is
    given for an hour more; one that can be renewed is always the new one (CoreDNS 1.14, plugin/cache).
    """
    upstream = " ".join(map(str, pod_name_servers(addresses, site)))
    of_servers = "".join(_of_servers(str(zone), upstream) for zone in (CLUSTER_DOMAIN, addresses.supernet))
    return f"""\
{of_servers}\
. {{
    bind {ADDRESS}
    errors
    cache 30 {{
        serve_stale 1h verify 1s
    }}
{api_directive(environment, addresses)}{forward_directive(RESOLVER)}    loop
    prometheus 127.0.0.1:{METRICS_PORT}
}}
"""


def _of_servers(zone: str, upstream: str) -> str:
    """Return the part of the configuration about a zone that the cluster's servers are asked for."""
    return f"""\
{zone} {{
    bind {ADDRESS}
    errors
    cache 30 {{
        denial 9984 5
        serve_stale 1h verify 1s
    }}
    forward . {upstream} {{
        force_tcp
        policy sequential
        health_check 1s domain kubernetes.default.svc.{CLUSTER_DOMAIN}
        max_concurrent {PLACES}
    }}
    prometheus 127.0.0.1:{METRICS_PORT}
}}
"""
