"""Elastic Fabric Adapters for pods: AWS's device plugin, in the form of AWS's own chart.

Its image is in a registry of AWS that requires credentials, and its source is not public. So the environment's file
names the image by its digest (``images.efa_device_plugin``); without an image there is no plugin.

It has the rights that AWS's chart grants it up to v0.5.8. From v0.5.9 on the chart runs it privileged
(github.com/aws/eks-charts, stable/aws-efa-k8s-device-plugin, commit c64d880). Here it is never privileged; nobody has
tried whether those versions work unprivileged. Mounts of the chart that only Neuron needs are left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pulumi import ComponentResource, ResourceOptions

from clouds.base.machine_types import Rdma
from components.objects.device_plugins import PLUGINS, daemon_set, device_plugin, of_host
from components.objects.rdma import DEVICES, PART, nodes_with

if TYPE_CHECKING:
    from pulumi_kubernetes.apps.v1 import DaemonSetSpecArgsDict
    from pulumi_kubernetes.core.v1 import PodSpecArgsDict

    from components.model import Environment

NAME = "efa-device-plugin"
SELECTOR = {"k8s-app": NAME}


class EfaDevicePlugin(ComponentResource):
    """The plugin, for environments that have adapters and name its image."""

    def __init__(self, name: str, environment: Environment, image: str, opts: ResourceOptions | None = None) -> None:
        super().__init__("longhaul:objects:EfaDevicePlugin", name, None, opts)
        spec = plugin_spec(environment, image)
        device_plugin(NAME, spec, part=PART, selector=SELECTOR, opts=ResourceOptions(parent=self))
        self.register_outputs({})


def plugin_spec(environment: Environment, image: str) -> DaemonSetSpecArgsDict:
    """Return the specification of the plugin, which runs on every node with adapters."""
    pod: PodSpecArgsDict = {
        "affinity": {"node_affinity": nodes_with(environment, Rdma.EFA)},
        "host_network": True,
        "containers": [
            {
                "name": NAME,
                "image": image,
                "resources": {"requests": {"cpu": "10m", "memory": "20Mi"}, "limits": {"memory": "256Mi"}},
                "security_context": {
                    "allow_privilege_escalation": False,
                    "run_as_non_root": False,
                    "capabilities": {"drop": ["ALL"]},
                },
                "volume_mounts": [
                    {"name": "plugins", "mount_path": PLUGINS},
                    {"name": "devices", "mount_path": DEVICES},
                ],
            }
        ],
        "volumes": [
            of_host("plugins", PLUGINS, kind="Directory"),
            # Without the driver the folder does not exist: the pod waits for it, and its events say so.
            of_host("devices", DEVICES, kind="Directory"),
        ],
    }
    return daemon_set(pod, part=PART, selector=SELECTOR)
