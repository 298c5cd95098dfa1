"""Deployments of the cluster's DNS servers: those that run anywhere, and those of one site. Two servers of a Deployment
never share a host, because one host's network once limited a whole cluster's DNS to some 200 queries a second."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from components.model import Environment
from components.model.network.cluster_dns import TOLERATED, deployment_name
from components.model.versions.section import pinned
from components.objects.object_metadata import labels
from components.objects.private_zones import POD_ADDRESS
from contract.labels import HOSTNAME_LABEL, POOL_LABEL, SITE_LABEL, ZONE_LABEL
from contract.object_names import COREDNS

if TYPE_CHECKING:
    from pulumi_kubernetes.apps.v1 import DeploymentSpecArgsDict
    from pulumi_kubernetes.core.v1 import AffinityArgsDict, ContainerArgsDict, PodSpecArgsDict, TolerationArgsDict
    from pulumi_kubernetes.meta.v1 import LabelSelectorArgsDict

PART = "dns"
SELECTOR = {"k8s-app": "kube-dns"}
"""Label by which programs find a cluster's DNS servers."""


@dataclass(frozen=True, kw_only=True)
class DnsServers:
    """The servers of one Deployment."""

    replicas: int
    site: str | None = None
    """The site that they are for, or None for servers that run anywhere."""

    @property
    def name(self) -> str:
        """Name of the Deployment and of its PodDisruptionBudget."""
        return deployment_name(self.site)

    @property
    def labels(self) -> dict[str, str]:
        """Labels by which the Deployment finds its pods. A Deployment's selector cannot change, so servers that run
        anywhere have the label of all; their ReplicaSets own them, so that no Deployment takes another's."""
        return SELECTOR if self.site is None else {**SELECTOR, SITE_LABEL: self.site}

    @property
    def selector(self) -> LabelSelectorArgsDict:
        """Selector of these servers and no others. A pod of two budgets could not be evicted (kubernetes,
        ``pkg/registry/core/pod/storage/eviction.go``)."""
        if self.site is not None:
            return {"match_labels": self.labels}
        return {"match_labels": SELECTOR, "match_expressions": [{"key": SITE_LABEL, "operator": "DoesNotExist"}]}


def plain_pools(environment: Environment) -> list[str]:
    """Return the pools whose machines have no GPUs. DNS prefers them, to leave GPU machines to pods that need GPUs."""
    return [name for name, pool in environment.pools.items() if environment.machine_type(pool.machine_type).gpus == 0]


def deployment_spec(environment: Environment, servers: DnsServers, *, config: str) -> DeploymentSpecArgsDict:
    """Return the specification of the Deployment."""
    return {
        "replicas": servers.replicas,
        # There may be only two machines: the new pod of a roll-out needs the place of an old one.
        "strategy": {"type": "RollingUpdate", "rolling_update": {"max_surge": 0, "max_unavailable": 1}},
        "selector": {"match_labels": servers.labels},
        "template": {
            "metadata": {
                "labels": {**labels(PART), **servers.labels},
                # A changed configuration rolls out, and one that does not work stops half-way.
                "annotations": {"longhaul.dev/corefile": hashlib.sha256(config.encode()).hexdigest()[:16]},
            },
            "spec": _pod(environment, servers),
        },
    }


def _pod(environment: Environment, servers: DnsServers) -> PodSpecArgsDict:
    pod: PodSpecArgsDict = {
        "priority_class_name": "system-cluster-critical",
        "service_account_name": COREDNS,
        # Queries for names outside the cluster go to the machine's own DNS.
        "dns_policy": "Default",
        "tolerations": [_tolerate(key) for key in TOLERATED],
        "affinity": _affinity(environment, servers),
        "topology_spread_constraints": [
            {
                "topology_key": ZONE_LABEL,
                "max_skew": 1,
                "when_unsatisfiable": "ScheduleAnyway",
                "label_selector": servers.selector,
            }
        ],
        "containers": [_container(environment)],
        "volumes": [{"name": "config", "config_map": {"name": COREDNS}}],
    }
    if servers.site is not None:
        pod["node_selector"] = {SITE_LABEL: servers.site}
    return pod


def _tolerate(key: str) -> TolerationArgsDict:
    return {"key": key, "operator": "Exists"}


def _affinity(environment: Environment, servers: DnsServers) -> AffinityArgsDict:
    affinity: AffinityArgsDict = {
        "pod_anti_affinity": {
            # Only those of the same Deployment: a required term about all servers would also keep the new servers of a
            # site away from machines with servers that run anywhere, and a small site has no others.
            "required_during_scheduling_ignored_during_execution": [
                {"topology_key": HOSTNAME_LABEL, "label_selector": servers.selector}
            ],
            "preferred_during_scheduling_ignored_during_execution": [
                {
                    "weight": 50,
                    "pod_affinity_term": {"topology_key": HOSTNAME_LABEL, "label_selector": {"match_labels": SELECTOR}},
                }
            ],
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


def _container(environment: Environment) -> ContainerArgsDict:
    container: ContainerArgsDict = {
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
    if any(site.private_zones for site in environment.sites.values()):
        container["env"] = [{"name": POD_ADDRESS, "value_from": {"field_ref": {"field_path": "status.podIP"}}}]
    return container
