"""The cluster's DNS: two CoreDNS pods, on two machines.

In one cluster, all DNS once ended up on one host, whose network handles some 200 queries a second. So these pods never
share a host.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pulumi
from pulumi import ComponentResource, ResourceOptions
from pulumi.resource import CustomTimeouts
from pulumi_kubernetes.apps.v1 import Deployment
from pulumi_kubernetes.core.v1 import ConfigMap, Service, ServiceAccount
from pulumi_kubernetes.policy.v1 import PodDisruptionBudget
from pulumi_kubernetes.rbac.v1 import ClusterRole, ClusterRoleBinding

from components.model import AddressPlan, Environment
from components.model.network.api_address import api_address
from components.model.versions.section import pinned
from components.objects.object_metadata import labels, meta
from contract.annotations import SKIP_AWAIT
from contract.labels import HOSTNAME_LABEL, POOL_LABEL, ZONE_LABEL
from contract.object_names import CLUSTER_DOMAIN, COREDNS, SYSTEM_NAMESPACE
from contract.resources import GPU_RESOURCE
from contract.taints import SYSTEM_TAINT

if TYPE_CHECKING:
    from pulumi_kubernetes.apps.v1 import DeploymentSpecArgsDict
    from pulumi_kubernetes.core.v1 import AffinityArgsDict, ContainerArgsDict, PodSpecArgsDict, TolerationArgsDict
    from pulumi_kubernetes.rbac.v1 import PolicyRuleArgsDict

PART = "dns"
SELECTOR = {"k8s-app": "kube-dns"}
"""Label by which programs find a cluster's DNS."""
SERVICE = "kube-dns"
REPLICAS = 2
READY_S = 900
"""Time in seconds that the deployment of DNS may take until the first nodes have booted and joined."""
TOLERATED = (SYSTEM_TAINT, GPU_RESOURCE, "CriticalAddonsOnly")
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
    """CoreDNS and its service."""

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
        self._service()
        PodDisruptionBudget(
            f"{COREDNS}-budget",
            metadata=meta(COREDNS, part=PART, namespace=SYSTEM_NAMESPACE),
            # Not "at least one must stay": a single pod's machine could then never be drained.
            spec={"max_unavailable": 1, "selector": {"match_labels": SELECTOR}},
            opts=self._child,
        )
        self._deployment(config, after=[account, access, mapped])
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

    def _service(self) -> None:
        Service(
            SERVICE,
            # The Service is ready when its pods are, and the deployment waits for them already.
            metadata=meta(
                SERVICE, part=PART, namespace=SYSTEM_NAMESPACE, more_labels=SELECTOR, annotations={SKIP_AWAIT: "true"}
            ),
            spec={
                "type": "ClusterIP",
                "cluster_ip": str(self._args.addresses.dns_service),
                "selector": SELECTOR,
                # A site whose link is cut still asks the pod in the site, if there is one.
                "traffic_distribution": "PreferSameZone",
                "ports": [
                    {"name": "dns", "port": 53, "protocol": "UDP", "target_port": 53},
                    {"name": "dns-tcp", "port": 53, "protocol": "TCP", "target_port": 53},
                    {"name": "metrics", "port": 9153, "protocol": "TCP", "target_port": 9153},
                ],
            },
            opts=self._child,
        )

    def _deployment(self, config: str, *, after: list[pulumi.Resource]) -> None:
        nodes = standing_nodes(self._args.environment)
        if nodes < REPLICAS:
            pulumi.warn(
                f"{nodes} machines of {self._args.environment.name} always run, but DNS needs {REPLICAS}: give a pool "
                "without GPUs `min: 2`, or list hosts",
                resource=self,
            )
        Deployment(
            COREDNS,
            metadata=meta(
                COREDNS,
                part=PART,
                namespace=SYSTEM_NAMESPACE,
                more_labels=SELECTOR,
                # If no machine runs until there is work, DNS starts with the first machine.
                annotations=None if nodes else {SKIP_AWAIT: "true"},
            ),
            spec=deployment_spec(self._args.environment, config=config, replicas=REPLICAS if nodes != 1 else 1),
            opts=ResourceOptions(
                parent=self,
                depends_on=after,
                custom_timeouts=CustomTimeouts(create=f"{READY_S}s", update=f"{READY_S}s"),
            ),
        )


def corefile(environment: Environment, addresses: AddressPlan) -> str:
    """Return CoreDNS's configuration. CoreDNS looks up reverse names of the whole supernet among services and their
    endpoints first. Reverse names of other machines (nodes, gateways) go to the network's own DNS, like every other
    name except the API's. Of the sites' networks, only the control plane's knows the API's name, and laptops may ask
    any pod; so this configuration contains the answer, without a file (CoreDNS 1.14, plugin/hosts)."""
    return f"""\
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
    hosts /dev/null {environment.api_name} {{
        {api_address(environment, addresses)} {environment.api_name}
        ttl 30
        no_reverse
        reload 0s
    }}
    prometheus :9153
    forward . /etc/resolv.conf {{
        max_concurrent 1000
    }}
    cache 30
    loop
    loadbalance
}}
"""


def standing_nodes(environment: Environment) -> int:
    """Return the number of an environment's nodes that always run and accept DNS pods, including GPU nodes."""
    pools = (
        pool.min
        for pool in environment.pools.values()
        if all(taint.key in TOLERATED or taint.effect == "PreferNoSchedule" for taint in pool.taints)
    )
    return sum(pools) + len(environment.hosts)


def plain_pools(environment: Environment) -> list[str]:
    """Return the pools whose machines have no GPUs. DNS prefers them, to leave GPU machines to pods that need GPUs."""
    return [name for name, pool in environment.pools.items() if environment.machine_type(pool.machine_type).gpus == 0]


def deployment_spec(environment: Environment, *, config: str, replicas: int) -> DeploymentSpecArgsDict:
    """Return the specification of the deployment."""
    return {
        "replicas": replicas,
        # There may be only two machines: the new pod of a roll-out needs the place of an old one.
        "strategy": {"type": "RollingUpdate", "rolling_update": {"max_surge": 0, "max_unavailable": 1}},
        "selector": {"match_labels": SELECTOR},
        "template": {
            "metadata": {
                "labels": {**labels(PART), **SELECTOR},
                # A changed configuration rolls out, and one that does not work stops half-way.
                "annotations": {"longhaul.dev/corefile": hashlib.sha256(config.encode()).hexdigest()[:16]},
            },
            "spec": _pod(environment),
        },
    }


def _pod(environment: Environment) -> PodSpecArgsDict:
    return {
        "priority_class_name": "system-cluster-critical",
        "service_account_name": COREDNS,
        # Queries for names outside the cluster go to the machine's own DNS.
        "dns_policy": "Default",
        "tolerations": [_tolerate(key) for key in TOLERATED],
        "affinity": _affinity(environment),
        "topology_spread_constraints": [
            {
                "topology_key": ZONE_LABEL,
                "max_skew": 1,
                "when_unsatisfiable": "ScheduleAnyway",
                "label_selector": {"match_labels": SELECTOR},
            }
        ],
        "containers": [_container()],
        "volumes": [{"name": "config", "config_map": {"name": COREDNS}}],
    }


def _tolerate(key: str) -> TolerationArgsDict:
    return {"key": key, "operator": "Exists"}


def _affinity(environment: Environment) -> AffinityArgsDict:
    affinity: AffinityArgsDict = {
        "pod_anti_affinity": {
            "required_during_scheduling_ignored_during_execution": [
                {"topology_key": HOSTNAME_LABEL, "label_selector": {"match_labels": SELECTOR}}
            ]
        }
    }
    pools = plain_pools(environment)
    if pools:
        # GPU machines are tolerated, for a cluster that has no others, but are the last choice.
        affinity["node_affinity"] = {
            "preferred_during_scheduling_ignored_during_execution": [
                {
                    "weight": 100,
                    "preference": {"match_expressions": [{"key": POOL_LABEL, "operator": "In", "values": pools}]},
                }
            ]
        }
    return affinity


def _container() -> ContainerArgsDict:
    return {
        "name": COREDNS,
        "image": f"registry.k8s.io/coredns/coredns:v{pinned('coredns')}",
        "args": ["-conf", "/etc/coredns/Corefile"],
        "ports": [
            {"name": "dns", "container_port": 53, "protocol": "UDP"},
            {"name": "dns-tcp", "container_port": 53, "protocol": "TCP"},
            {"name": "metrics", "container_port": 9153, "protocol": "TCP"},
        ],
        "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "512Mi"}},
        "liveness_probe": {
            "http_get": {"path": "/health", "port": 8080},
            "initial_delay_seconds": 60,
            "timeout_seconds": 5,
            "failure_threshold": 5,
        },
        "readiness_probe": {"http_get": {"path": "/ready", "port": 8181}, "period_seconds": 2, "failure_threshold": 3},
        "security_context": {
            "allow_privilege_escalation": False,
            "read_only_root_filesystem": True,
            # The official image's program has this file capability, and does not start where it may not have it.
            "capabilities": {"add": ["NET_BIND_SERVICE"], "drop": ["ALL"]},
        },
        "volume_mounts": [{"name": "config", "mount_path": "/etc/coredns", "read_only": True}],
    }
