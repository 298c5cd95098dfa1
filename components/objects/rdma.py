"""InfiniBand and RoCE for pods: NVIDIA's (Mellanox's) plugin for shared RDMA devices, one for each kind of network.

A pod requests one ``rdma/infiniband`` (or ``rdma/roce``) and gets the device files of all adapters of that kind on its
node; NCCL chooses among them. This does not limit the number of pods on a node.

Upstream runs the plugin privileged. According to its source (v1.5.3) it reads sysfs, checks whether
``/dev/infiniband/rdma_cm`` exists (github.com/Mellanox/rdmamap, ``getRdmaUcmDevice``) and asks the kernel for the
namespace mode of RDMA devices, for which no capability is needed. The plugin needs more privileges only to bring
interfaces up. That fails with a warning, and the machine's own network configuration brings them up.

The plugin runs in the host's network namespace, because only there can it see the interface of each adapter. The
interface's link type distinguishes InfiniBand from Ethernet: on Azure's machines both may be adapters of one vendor
with one driver.
"""

from __future__ import annotations

import json
from hashlib import sha256
from typing import TYPE_CHECKING

from pulumi import ComponentResource, ResourceOptions
from pulumi_kubernetes.core.v1 import ConfigMap

from clouds.base.machine_types import Rdma
from components.model.nodes.kubelet_reservations import MAX_PODS
from components.model.nodes.rdma import hosts_with, pools_with
from components.model.versions.section import pinned
from components.objects.device_plugins import PLUGINS, UNPRIVILEGED, daemon_set, device_plugin, of_host
from components.objects.object_metadata import meta
from contract.annotations import CONFIG_DIGEST
from contract.labels import POOL_LABEL, RDMA_LABEL
from contract.object_names import SYSTEM_NAMESPACE

if TYPE_CHECKING:
    from pulumi_kubernetes.apps.v1 import DaemonSetSpecArgsDict
    from pulumi_kubernetes.core.v1 import (
        ContainerArgsDict,
        NodeAffinityArgsDict,
        NodeSelectorTermArgsDict,
        PodSpecArgsDict,
    )

    from components.model import Environment

PART = "rdma"
IMAGE = "ghcr.io/mellanox/k8s-rdma-shared-dev-plugin"
CONFIG_FOLDER = "/k8s-rdma-shared-dev-plugin"
"""Folder in which the plugin looks for ``config.json`` (``DefaultConfigFilePath``, its resources_manager.go)."""
DEVICES = "/dev/infiniband"
VENDOR = "15b3"
"""PCI vendor of the adapters, Mellanox."""
LINK_TYPES = {Rdma.INFINIBAND: "infiniband", Rdma.ROCE: "ether"}
"""The kernel's names for the link types of adapters' interfaces; for InfiniBand, the type of IP over InfiniBand."""
PCI_IDS = f"{VENDOR}  Mellanox Technologies\n"
"""List of PCI vendors in the format of pci.ids. The plugin exits without this list, and uses it only for names in its
log."""


class SharedRdma(ComponentResource):
    """The plugin and its configuration, for nodes with one kind of RDMA network."""

    def __init__(self, name: str, environment: Environment, kind: Rdma, opts: ResourceOptions | None = None) -> None:
        super().__init__("longhaul:objects:SharedRdma", name, None, opts)
        plugin = plugin_name(kind)
        config = ConfigMap(
            plugin,
            metadata=meta(plugin, part=PART, namespace=SYSTEM_NAMESPACE),
            data=configuration(kind),
            opts=ResourceOptions(parent=self),
        )
        options = ResourceOptions(parent=self, depends_on=[config])
        device_plugin(plugin, plugin_spec(environment, kind), part=PART, selector={"k8s-app": plugin}, opts=options)
        self.register_outputs({})


def plugin_name(kind: Rdma) -> str:
    """Return the name of the plugin's objects."""
    return f"rdma-device-plugin-{kind}"


def configuration(kind: Rdma) -> dict[str, str]:
    """Return the content of the plugin's files."""
    selectors = {"vendors": [VENDOR], "linkTypes": [LINK_TYPES[kind]]}
    config = {"configList": [{"resourceName": str(kind), "rdmaHcaMax": MAX_PODS, "selectors": selectors}]}
    return {"config.json": json.dumps(config, indent=1) + "\n", "pci.ids": PCI_IDS}


def nodes_with(environment: Environment, kind: Rdma) -> NodeAffinityArgsDict:
    """Return the affinity to all nodes, of pools and hosts, that have a kind of RDMA network."""
    terms: list[NodeSelectorTermArgsDict] = []
    if pools := pools_with(environment, kind):
        terms.append({"match_expressions": [{"key": POOL_LABEL, "operator": "In", "values": [*pools]}]})
    if hosts_with(environment, kind):
        terms.append({"match_expressions": [{"key": RDMA_LABEL, "operator": "In", "values": [str(kind)]}]})
    return {"required_during_scheduling_ignored_during_execution": {"node_selector_terms": terms}}


def plugin_spec(environment: Environment, kind: Rdma) -> DaemonSetSpecArgsDict:
    """Return the specification of the plugin, which runs on every node with this kind of RDMA network."""
    name = plugin_name(kind)
    pod: PodSpecArgsDict = {
        "affinity": {"node_affinity": nodes_with(environment, kind)},
        "host_network": True,
        "containers": [_container()],
        "volumes": [
            of_host("plugins", PLUGINS, kind="Directory"),
            # Without the driver the folder does not exist: the pod waits for it, and its events say so.
            of_host("devices", DEVICES, kind="Directory"),
            {"name": "config", "config_map": {"name": name}},
        ],
    }
    digest = sha256(json.dumps(configuration(kind), sort_keys=True).encode()).hexdigest()[:16]
    return daemon_set(pod, part=PART, selector={"k8s-app": name}, annotations={CONFIG_DIGEST: digest})


def _container() -> ContainerArgsDict:
    return {
        "name": "rdma-device-plugin",
        "image": f"{IMAGE}:v{pinned('k8s-rdma-shared-dev-plugin')}",
        "env": [{"name": "PCIDB_PATH", "value": f"{CONFIG_FOLDER}/pci.ids"}],
        "resources": {"requests": {"cpu": "10m", "memory": "32Mi"}, "limits": {"memory": "256Mi"}},
        "security_context": UNPRIVILEGED,
        "volume_mounts": [
            {"name": "plugins", "mount_path": PLUGINS},
            {"name": "devices", "mount_path": DEVICES, "read_only": True},
            {"name": "config", "mount_path": CONFIG_FOLDER, "read_only": True},
        ],
    }
