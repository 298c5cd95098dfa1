"""Configuration of kube-apiserver's admission plugins."""

from __future__ import annotations

from typing import Any

from components.model import Environment
from components.model.control_plane.size import declared_nodes, size_of
from contract.object_names import SYSTEM_NAMESPACE

SYSTEM_PRIORITIES = ("system-cluster-critical", "system-node-critical")
"""Kubernetes' own priority classes. Their pods preempt all others, and are evicted last."""

EVENTS_PER_S = 200
"""Number of events a second that one namespace may make continuously, on each server. With five servers that is a
quarter of the events that the store of the largest environments can hold, and half of those that other environments'
stores can hold (:data:`components.model.control_plane.size.SIZES`)."""

USER_EVENTS_PER_S, USER_EVENTS_BURST = 50, 100
"""Number of events that one user may make a second, and at once: a kubelet's own limit (kubernetes 1.36,
pkg/kubelet/apis/config/v1beta1, ``EventRecordQPS``, ``EventBurst``), and the most that the clients of the scheduler and
the controllers send."""

BUCKETS = 16_384
"""Number of users whose events are counted: more than there are nodes, so that no count is dropped and starts again."""


def admission(environment: Environment) -> dict[str, Any]:
    """Return the ``AdmissionConfiguration``."""
    return {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "AdmissionConfiguration",
        "plugins": [
            {"name": "EventRateLimit", "configuration": _events(environment)},
            {"name": "PodSecurity", "configuration": _pod_security(environment)},
            {"name": "ResourceQuota", "configuration": _quotas()},
        ],
    }


def _pod_security(environment: Environment) -> dict[str, Any]:
    """Return Pod Security's defaults, for namespaces without labels of their own (kubernetes.io, "Pod Security
    Admission"). ``baseline`` keeps pods out of their nodes. ``restricted`` is a namespace's choice; elsewhere it only
    warns."""
    return {
        "apiVersion": "pod-security.admission.config.k8s.io/v1",
        "kind": "PodSecurityConfiguration",
        "defaults": {"enforce": "baseline", "warn": "restricted", "audit": "restricted"},
        "exemptions": {"namespaces": sorted({SYSTEM_NAMESPACE, *environment.pod_security.exempt_namespaces})},
    }


def _quotas() -> dict[str, Any]:
    """Return the limit on pods of the system's priorities: they are allowed only where a quota covers them, which is in
    ``kube-system`` (:mod:`components.objects.pod_priorities`)."""
    scope = {"scopeName": "PriorityClass", "operator": "In", "values": list(SYSTEM_PRIORITIES)}
    return {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "ResourceQuotaConfiguration",
        "limitedResources": [{"resource": "pods", "matchScopes": [scope]}],
    }


def _events(environment: Environment) -> dict[str, Any]:
    """Return the limits of events. There is no limit for a whole server, because one flood would
    then cost everybody's events."""
    burst = size_of(declared_nodes(environment)).event_burst
    return {
        "apiVersion": "eventratelimit.admission.k8s.io/v1alpha1",
        "kind": "Configuration",
        "limits": [
            {"type": "Namespace", "qps": EVENTS_PER_S, "burst": burst},
            {"type": "User", "qps": USER_EVENTS_PER_S, "burst": USER_EVENTS_BURST, "cacheSize": BUCKETS},
        ],
    }
