"""Common parts of all device plugins' DaemonSets: their roll-out, and the tolerations and the priority that let them
run before any other pod."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pulumi import ResourceOptions
from pulumi_kubernetes.apps.v1 import DaemonSet

from components.objects.object_metadata import labels, meta
from contract.annotations import SKIP_AWAIT
from contract.object_names import SYSTEM_NAMESPACE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pulumi_kubernetes.apps.v1 import DaemonSetSpecArgsDict
    from pulumi_kubernetes.core.v1 import PodSpecArgsDict, SecurityContextArgsDict, VolumeArgsDict

AT_ONCE = "5%"
"""Share of plugins that a roll-out ends at a time. Pods keep their devices meanwhile, but no other pod gets any on that
machine. When a version does not start, the roll-out stops there."""
SETTLED_S = 15
"""Time that a new plugin has to run before it counts as available, seconds: without a driver it ends within one
second."""
PLUGINS = "/var/lib/kubelet/device-plugins"
"""Folder of the kubelet's interface for plugins (kubernetes.io, "Device Plugins")."""
UNPRIVILEGED: SecurityContextArgsDict = {
    "allow_privilege_escalation": False,
    "read_only_root_filesystem": True,
    "capabilities": {"drop": ["ALL"]},
}


def device_plugin(
    name: str, spec: DaemonSetSpecArgsDict, *, part: str, selector: Mapping[str, str], opts: ResourceOptions
) -> None:
    """Declare a plugin's DaemonSet."""
    DaemonSet(
        name,
        # `up` does not wait for the plugin: a machine whose driver does not load must not hold up all other objects.
        metadata=meta(
            name, part=part, namespace=SYSTEM_NAMESPACE, more_labels={**selector}, annotations={SKIP_AWAIT: "true"}
        ),
        spec=spec,
        opts=opts,
    )


def daemon_set(
    pod: PodSpecArgsDict, *, part: str, selector: Mapping[str, str], annotations: Mapping[str, str] | None = None
) -> DaemonSetSpecArgsDict:
    """Return the specification of a plugin's DaemonSet; ``pod`` has the plugin's own nodes, containers and volumes."""
    whole: PodSpecArgsDict = {
        **pod,
        "priority_class_name": "system-node-critical",
        # Every taint is tolerated, those of the preflight and of reserved pools too: pods of such a pool need their
        # devices.
        "tolerations": [{"operator": "Exists"}],
        # A plugin talks only to the kubelet.
        "automount_service_account_token": False,
        "enable_service_links": False,
    }
    return {
        "selector": {"match_labels": {**selector}},
        # Two plugins cannot serve one resource, so the old one ends before the new one starts.
        "update_strategy": {"type": "RollingUpdate", "rolling_update": {"max_surge": 0, "max_unavailable": AT_ONCE}},
        "min_ready_seconds": SETTLED_S,
        "template": {
            "metadata": {
                "labels": {**labels(part), **selector},
                **({"annotations": {**annotations}} if annotations else {}),
            },
            "spec": whole,
        },
    }


def of_host(name: str, path: str, *, kind: str) -> VolumeArgsDict:
    """Return a volume with a folder of the host."""
    return {"name": name, "host_path": {"path": path, "type": kind}}
