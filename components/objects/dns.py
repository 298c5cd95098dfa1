"""The cluster's DNS: CoreDNS on two machines anywhere, and on machines of each site that always run (docs/dns.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address
from typing import TYPE_CHECKING

import pulumi
from pulumi import ComponentResource, ResourceOptions
from pulumi.resource import CustomTimeouts
from pulumi_kubernetes.apps.v1 import Deployment
from pulumi_kubernetes.core.v1 import ConfigMap, Service, ServiceAccount
from pulumi_kubernetes.policy.v1 import PodDisruptionBudget
from pulumi_kubernetes.rbac.v1 import ClusterRole, ClusterRoleBinding

from components.model import AddressPlan, Environment
from components.model.network.cluster_dns import (
    ANYWHERE,
    node_sites,
    site_dns_addresses,
    site_servers,
    standing_nodes,
)
from components.objects.dns_servers import PART, SELECTOR, DnsServers, deployment_spec
from components.objects.object_metadata import meta
from components.objects.private_zones import private_zones
from components.render.coredns import api_directive, forward_directive
from contract.annotations import SKIP_AWAIT
from contract.object_names import CLUSTER_DOMAIN, COREDNS, SYSTEM_NAMESPACE

if TYPE_CHECKING:
    from pulumi_kubernetes.rbac.v1 import PolicyRuleArgsDict

SERVICE = "kube-dns"
"""Name of the Service of all servers. A site's own servers have another, with the site's name after it."""
READY_S = 900
"""Time in seconds that a Deployment of DNS may take until the first nodes have booted and joined."""
RULES: tuple[PolicyRuleArgsDict, ...] = (
    {"api_groups": [""], "resources": ["services", "namespaces"], "verbs": ["list", "watch"]},
    {"api_groups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": ["list", "watch"]},
)
"""Resources that CoreDNS watches. Pods are not among them: names derived from a pod's address are not worth the memory
for all pods."""


@dataclass(frozen=True, kw_only=True)
class DnsArgs:
    """Arguments of the DNS."""

    environment: Environment
    addresses: AddressPlan


class Dns(ComponentResource):
    """CoreDNS and its Services."""

    def __init__(self, name: str, args: DnsArgs, opts: ResourceOptions | None = None) -> None:
        super().__init__("longhaul:objects:Dns", name, None, opts)
        self._args = args
        self._child = ResourceOptions(parent=self)
        account = ServiceAccount(
            COREDNS, metadata=meta(COREDNS, part=PART, namespace=SYSTEM_NAMESPACE), opts=self._child
        )
        access = self._access()
        config = corefile(args.environment, args.addresses)
        mapped = ConfigMap(
            f"{COREDNS}-config",
            metadata=meta(COREDNS, part=PART, namespace=SYSTEM_NAMESPACE),
            data={"Corefile": config},
            opts=self._child,
        )
        standing = standing_nodes(args.environment)
        self._warn(standing)
        self._service(SERVICE, args.addresses.dns_service, SELECTOR)
        nodes = sum(standing.values())
        # If no machine runs until there is work, DNS starts with the first machine.
        anywhere = DnsServers(replicas=1 if nodes == 1 else ANYWHERE)
        first = self._servers(anywhere, config, after=[account, access, mapped], awaited=nodes > 0)
        addresses = site_dns_addresses(args.addresses)
        replicas = site_servers(args.environment, standing)
        for site in node_sites(args.environment):
            if site not in addresses:
                continue
            servers = DnsServers(replicas=replicas.get(site, 0), site=site)
            # A site without servers has the Service too: its nodes ask it, and are refused at once.
            self._service(f"{SERVICE}-{site}", addresses[site], servers.labels)
            if not servers.replicas:
                continue
            # After the first: a configuration that does not work stops there. They are not waited for, so that a site
            # that is cut off, or gets no machines, does not keep `up` from its end.
            self._servers(servers, config, after=[first], awaited=False)
        self.register_outputs({})

    def _access(self) -> ClusterRoleBinding:
        name = f"longhaul:{COREDNS}"
        role = ClusterRole(f"{COREDNS}-role", metadata=meta(name, part=PART), rules=list(RULES), opts=self._child)
        return ClusterRoleBinding(
            f"{COREDNS}-binding",
            metadata=meta(name, part=PART),
            role_ref={"api_group": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
            subjects=[{"kind": "ServiceAccount", "name": COREDNS, "namespace": SYSTEM_NAMESPACE}],
            opts=ResourceOptions(parent=self, depends_on=[role]),
        )

    def _service(self, name: str, address: IPv4Address, servers: dict[str, str]) -> None:
        Service(
            name,
            # The Service is ready when its pods are, and the Deployments wait for them already.
            metadata=meta(
                name, part=PART, namespace=SYSTEM_NAMESPACE, more_labels=servers, annotations={SKIP_AWAIT: "true"}
            ),
            spec={
                "type": "ClusterIP",
                "cluster_ip": str(address),
                "selector": servers,
                # A zone that is cut off still asks the pod in the zone, if there is one.
                "traffic_distribution": "PreferSameZone",
                "ports": [
                    {"name": "dns", "port": 53, "protocol": "UDP", "target_port": 53},
                    {"name": "dns-tcp", "port": 53, "protocol": "TCP", "target_port": 53},
                    {"name": "metrics", "port": 9153, "protocol": "TCP", "target_port": 9153},
                ],
            },
            opts=self._child,
        )

    def _servers(self, servers: DnsServers, config: str, *, after: list[pulumi.Resource], awaited: bool) -> Deployment:
        budget = PodDisruptionBudget(
            f"{servers.name}-budget",
            metadata=meta(servers.name, part=PART, namespace=SYSTEM_NAMESPACE),
            # Not "at least one must stay": a single pod's machine could then never be drained.
            spec={"max_unavailable": 1, "selector": servers.selector},
            opts=self._child,
        )
        return Deployment(
            servers.name,
            metadata=meta(
                servers.name,
                part=PART,
                namespace=SYSTEM_NAMESPACE,
                more_labels=servers.labels,
                annotations=None if awaited else {SKIP_AWAIT: "true"},
            ),
            spec=deployment_spec(self._args.environment, servers, config=config),
            opts=ResourceOptions(
                parent=self,
                depends_on=[*after, budget],
                custom_timeouts=CustomTimeouts(create=f"{READY_S}s", update=f"{READY_S}s"),
            ),
        )

    def _warn(self, standing: Mapping[str, int]) -> None:
        nodes = sum(standing.values())
        if nodes < ANYWHERE:
            pulumi.warn(
                f"{nodes} machines of {self._args.environment.name} always run, but DNS needs {ANYWHERE}: give a pool "
                "without GPUs `min: 2`, or list hosts",
                resource=self,
            )


def corefile(environment: Environment, addresses: AddressPlan) -> str:
    """Return CoreDNS's configuration. CoreDNS looks up reverse names of the whole supernet among services and their
    endpoints first. Reverse names of other machines (nodes, gateways) go to the network's own DNS, like every other
    name except the API's. Of the sites' networks, only the control plane's knows the API's name, and laptops may ask
    any pod; so this configuration contains the answer, without a file (CoreDNS 1.14, plugin/hosts).

    The cluster's own names are in CoreDNS's memory anyway, so its cache does not keep answers about them, which would
    be older by that (as in kubernetes, ``cmd/kubeadm/app/phases/addons/dns/manifests.go``)."""
    api = api_directive(environment, addresses)
    return f"""\
{private_zones(environment, addresses, api=api)}\
.:53 {{
    errors
    health {{
        lameduck 5s
    }}
    ready
    kubernetes {CLUSTER_DOMAIN} {addresses.supernet} {{
        fallthrough in-addr.arpa
        ttl 30
    }}
{api}    prometheus :9153
{forward_directive("/etc/resolv.conf")}    cache 30 {{
        disable success {CLUSTER_DOMAIN}
        disable denial {CLUSTER_DOMAIN}
    }}
    loop
    loadbalance
}}
"""
