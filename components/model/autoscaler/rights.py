"""Rights that the autoscaler's user needs in Kubernetes, as rules of RBAC. ``SCALES`` in ``clouds/aws/live_groups.py``
and ``clouds/azure/live_groups.py`` has the user's rights in clouds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from components.model.autoscaler.document import CONFIGMAP
from components.model.autoscaler.leases import ROLLS
from components.model.nodes.labels import on_nodes
from contract.object_names import AUTOSCALER

Rule = dict[str, Any]
READ = ("get", "list", "watch")

LOOK: tuple[Rule, ...] = (
    {
        "api_groups": [""],
        "resources": [
            "limitranges",
            "namespaces",
            "nodes",
            "persistentvolumeclaims",
            "persistentvolumes",
            "pods",
            "podtemplates",
        ],
        "verbs": [*READ],
    },
    {"api_groups": ["node.k8s.io"], "resources": ["runtimeclasses"], "verbs": [*READ]},
    {
        "api_groups": ["storage.k8s.io"],
        "resources": ["csidrivers", "csinodes", "csistoragecapacities", "storageclasses", "volumeattachments"],
        "verbs": [*READ],
    },
    {"api_groups": ["scheduling.k8s.io"], "resources": ["priorityclasses"], "verbs": [*READ]},
    {"api_groups": ["policy"], "resources": ["poddisruptionbudgets"], "verbs": [*READ]},
    {"api_groups": ["apps"], "resources": ["daemonsets"], "verbs": [*READ]},
    {"api_groups": ["autoscaling.x-k8s.io"], "resources": ["provisioningrequests"], "verbs": [*READ]},
    {"api_groups": ["scheduling.x-k8s.io"], "resources": ["podgroups"], "verbs": [*READ]},
)
"""Cluster-wide rules of every autoscaler, with which it observes."""

ACT: tuple[Rule, ...] = (
    # Cordons, and the annotation that goes with them; a policy refuses all other changes
    # (components/objects/autoscaler_policies.py).
    {"api_groups": [""], "resources": ["nodes"], "verbs": ["patch"]},
    {"api_groups": [""], "resources": ["pods/eviction"], "verbs": ["create"]},
    # Events on waiting pods, in any namespace.
    {"api_groups": [""], "resources": ["events"], "verbs": ["create"]},
    {"api_groups": ["autoscaling.x-k8s.io"], "resources": ["provisioningrequests/status"], "verbs": ["patch"]},
)
"""Further cluster-wide rules of an autoscaler that acts."""


def leases(pools: Iterable[str], *, acts: bool) -> tuple[str, ...]:
    """Return the names of the leases that the autoscaler takes: its own and, when it acts, those of the pools'
    rolls."""
    return (AUTOSCALER, *(f"{ROLLS}{on_nodes(pool)}" for pool in pools if acts))


def everywhere(*, acts: bool) -> tuple[Rule, ...]:
    """Return the cluster-wide rules."""
    return (*LOOK, *ACT) if acts else LOOK


def in_kube_system(pools: Iterable[str], *, acts: bool) -> tuple[Rule, ...]:
    """Return the rules in ``kube-system`` for an environment with these pools: its document, its own lease and memory
    and, when it acts, the leases that rolls of the pools take too."""
    remembers: tuple[Rule, ...] = (
        {"api_groups": [""], "resources": ["configmaps"], "verbs": ["create"]},
        {"api_groups": [""], "resources": ["configmaps"], "resource_names": [AUTOSCALER], "verbs": ["update"]},
    )
    return (
        # A list or watch covers all leases. A policy limits which leases are made
        # (components/objects/autoscaler_policies.py).
        {"api_groups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["create", "list", "watch"]},
        {
            "api_groups": ["coordination.k8s.io"],
            "resources": ["leases"],
            "resource_names": [*leases(pools, acts=acts)],
            "verbs": ["get", "patch"],
        },
        {"api_groups": [""], "resources": ["configmaps"], "resource_names": [AUTOSCALER, CONFIGMAP], "verbs": ["get"]},
        *(remembers if acts else ()),
    )
