"""Limits of a team's namespace: the largest numbers of objects, the smallest requests of containers, and pods that
would harm other teams' pods. Teams' shares of the capacity are in queue_quotas.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pulumi_kubernetes.core.v1 import LimitRange, ResourceQuota

from components.objects.object_metadata import meta
from components.objects.pod_priorities import CLASSES
from components.objects.team_conditions import PART
from components.objects.team_sizes import LEAST, REQUESTS

if TYPE_CHECKING:
    from pulumi import ResourceOptions
    from pulumi_kubernetes.core.v1 import LimitRangeItemArgsDict, ScopedResourceSelectorRequirementArgsDict

COUNTS = {
    "pods": "20k",
    "count/jobs.batch": "5k",
    "count/jobsets.jobset.x-k8s.io": "1k",
    "count/secrets": "500",
    "count/configmaps": "500",
    # A JobSet has one, and cannot start without.
    "services": "1500",
    # All Services of the cluster share 2,768 (kube-apiserver's default range), and a Service may have many.
    "services.nodeports": "100",
    "persistentvolumeclaims": "1k",
    "count/deployments.apps": "500",
    "count/replicasets.apps": "2k",
    "count/statefulsets.apps": "500",
    "count/daemonsets.apps": "100",
    "count/controllerrevisions.apps": "5k",
    "count/replicationcontrollers": "100",
    "count/cronjobs.batch": "500",
    "count/horizontalpodautoscalers.autoscaling": "500",
    "count/poddisruptionbudgets.policy": "500",
    "count/ingresses.networking.k8s.io": "500",
    "count/networkpolicies.networking.k8s.io": "500",
    "count/serviceaccounts": "500",
    "count/roles.rbac.authorization.k8s.io": "500",
    "count/rolebindings.rbac.authorization.k8s.io": "500",
    "count/leases.coordination.k8s.io": "500",
    "count/resourceclaims.resource.k8s.io": "1k",
    "count/resourceclaimtemplates.resource.k8s.io": "500",
}
"""Largest number of objects of each kind in a namespace, which bounds what a team stores. A Secret or a
ConfigMap may have 1 MiB. Kubernetes stores 20,000 as `20k`, and another form would be a change in every plan."""
NOT_A_TEAMS = tuple(class_.name for class_ in CLASSES if class_.preempts and class_.value > 0)
"""Priority classes that a team's pods may not have. The scheduler evicts other pods for pods of these classes,
regardless of guarantees."""
NO_PODS: dict[str, ScopedResourceSelectorRequirementArgsDict] = {
    "priorities": {"scope_name": "PriorityClass", "operator": "In", "values": NOT_A_TEAMS},
    # The scheduler keeps pods away from nodes, zones or the whole cluster for as long as a pod there excludes them, so
    # one small pod could stop every team's (kubernetes.io, "Resource Quotas", "Cross-namespace Pod Affinity Quota").
    "affinity": {"scope_name": "CrossNamespacePodAffinity", "operator": "Exists"},
}
"""Pods that a team may not have, by the names of their quotas: those that evict others', and those with rules about
pods of other namespaces."""


def declare_limits(name: str, *, opts: ResourceOptions) -> None:
    """Declare the limits of the namespace of team ``name``."""
    metadata = meta("longhaul", part=PART, namespace=name)
    limit: LimitRangeItemArgsDict = {"type": "Container", "min": LEAST, "default_request": REQUESTS}
    LimitRange(f"{name}-limits", metadata=metadata, spec={"limits": [limit]}, opts=opts)
    ResourceQuota(f"{name}-counts", metadata=metadata, spec={"hard": COUNTS}, opts=opts)
    for quota, pods in NO_PODS.items():
        ResourceQuota(
            f"{name}-{quota}",
            metadata=meta(f"longhaul-{quota}", part=PART, namespace=name),
            spec={"hard": {"pods": "0"}, "scope_selector": {"match_expressions": [pods]}},
            opts=opts,
        )
