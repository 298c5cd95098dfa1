"""GPUs are offered to pods: NVIDIA's device plugin on every machine that has some, and the runtime class that it
reaches the driver through.

The plugin tells the kubelet, and that containerd, by name which GPUs a container is given (``cdi-cri``): so they are
part of what the container is made of. By its default, an environment variable, a hook adds them later and unknown to
both, and they are lost as soon as the kubelet's static policy sets the container's processors
(github.com/NVIDIA/k8s-device-plugin, issue 145); what the plugin has against that (``PASS_DEVICE_SPECS``) wants it
privileged. What a GPU looks like, device nodes and the driver's libraries, it writes into ``/run/cdi``, out of the
host's ``/usr``.

It runs before a machine's GPUs have passed their preflight: what it offers cannot be had under the taint, and is there
at once when the taint goes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pulumi import ComponentResource, ResourceOptions
from pulumi_kubernetes.apps.v1 import DaemonSet
from pulumi_kubernetes.node.v1 import RuntimeClass

from components.model.nodes import GPU_LABEL
from components.model.versions import pinned
from components.objects.labels import SYSTEM, labels, meta

if TYPE_CHECKING:
    from pulumi_kubernetes.apps.v1 import DaemonSetSpecArgsDict
    from pulumi_kubernetes.core.v1 import ContainerArgsDict, PodSpecArgsDict, VolumeArgsDict

PART = "gpus"
NAME = "nvidia-device-plugin"
RUNTIME = "nvidia"
"""The runtime class, and containerd's handler (role nvidia_container_toolkit)."""
RESOURCE = "nvidia.com/gpu"
SELECTOR = {"k8s-app": NAME}
SKIP_AWAIT = "pulumi.com/skipAwait"
AT_ONCE = "5%"
"""Plugins that a roll-out ends at a time. Pods keep their GPUs meanwhile, but no other pod is given any on that
machine; and a version that does not start stops there."""
SETTLED_S = 15
"""How long a new plugin has to run before it counts, seconds: one that finds no driver ends within one."""
PLUGINS = "/var/lib/kubelet/device-plugins"
"""Where the kubelet and its plugins meet (kubernetes.io, "Device Plugins")."""
SPECS = "/var/run/cdi"
"""Where the plugin writes what its GPUs look like (``cdiRoot`` in its internal/cdi/cdi.go) and containerd looks."""
DRIVER_ROOT = "/driver-root"
"""Where the plugin looks for the host's files (``DefaultContainerDriverRoot``, its api/config/v1/consts.go)."""
CDI_HOOK = "/usr/local/lib/longhaul/nvidia-cdi-hook"
"""What makes links to the driver's libraries when a container starts. Of the host: it finds NVIDIA's own, whose place
hangs on how the machine got the toolkit."""
ARGS = (
    "--device-list-strategy=cdi-cri",
    # It does not guess: without a driver it ends, and is seen to.
    "--device-discovery-strategy=nvml",
    "--fail-on-init-error=true",
    # Instances of a GPU (MIG) are not offered.
    "--mig-strategy=none",
    # A GPU that is lost changes the others' numbers, never their identities.
    "--device-id-strategy=uuid",
    f"--nvidia-cdi-hook-path={CDI_HOOK}",
)
WATCHED_XIDS = (109,)
"""Xids that the plugin takes for an application's error though NVIDIA's catalog wants a reset."""
UNWATCHED_XIDS = (63, 94)
"""Xids that it takes a GPU away for though the catalog does not: memory that was remapped (63) works on, and an error
that was contained (94) ends its application only. A driver that wants the GPU drained for it says 154, which is
watched. With the five that the plugin leaves out itself (13, 31, 43, 45, 68) this is what docs/gpus.md says."""


class Gpus(ComponentResource):
    """The runtime class and the plugin; for environments that have GPUs."""

    def __init__(self, name: str, opts: ResourceOptions | None = None) -> None:
        super().__init__("longhaul:objects:Gpus", name, None, opts)
        runtime = RuntimeClass(
            RUNTIME,
            metadata=meta(RUNTIME, part=PART),
            handler=RUNTIME,
            # Other machines' containerd has no such handler: a pod would hang there.
            scheduling={"node_selector": {GPU_LABEL: "true"}},
            opts=ResourceOptions(parent=self),
        )
        DaemonSet(
            NAME,
            # Not waited for: a machine whose driver does not load must not hold up everybody's objects.
            metadata=meta(NAME, part=PART, namespace=SYSTEM, more_labels=SELECTOR, annotations={SKIP_AWAIT: "true"}),
            spec=plugin_spec(),
            opts=ResourceOptions(parent=self, depends_on=[runtime]),
        )
        self.register_outputs({})


def plugin_spec() -> DaemonSetSpecArgsDict:
    """What runs on every machine with GPUs."""
    return {
        "selector": {"match_labels": SELECTOR},
        # Two plugins cannot serve one resource, so an old one ends before the new one comes.
        "update_strategy": {"type": "RollingUpdate", "rolling_update": {"max_surge": 0, "max_unavailable": AT_ONCE}},
        "min_ready_seconds": SETTLED_S,
        "template": {"metadata": {"labels": {**labels(PART), **SELECTOR}}, "spec": _pod()},
    }


def _pod() -> PodSpecArgsDict:
    return {
        "priority_class_name": "system-node-critical",
        "runtime_class_name": RUNTIME,
        "node_selector": {GPU_LABEL: "true"},
        # Every taint: that of the preflight, and whatever sets a pool aside for somebody. Its pods want their GPUs too.
        "tolerations": [{"operator": "Exists"}],
        # It talks to the kubelet alone.
        "automount_service_account_token": False,
        "enable_service_links": False,
        "containers": [_container()],
        "volumes": [
            _host("plugins", PLUGINS, kind="Directory"),
            _host("specs", SPECS, kind="DirectoryOrCreate"),
            # Not all of the host, as NVIDIA's chart has it: in /run are sockets, containerd's too, that a read-only
            # mount does not close.
            _host("driver", "/usr", kind="Directory"),
        ],
    }


def _host(name: str, path: str, *, kind: str) -> VolumeArgsDict:
    return {"name": name, "host_path": {"path": path, "type": kind}}


def _container() -> ContainerArgsDict:
    return {
        "name": NAME,
        "image": f"nvcr.io/nvidia/k8s-device-plugin:v{pinned('k8s-device-plugin')}",
        "args": list(ARGS),
        "env": [
            {"name": "DP_ENABLE_HEALTHCHECKS", "value": _numbers(WATCHED_XIDS)},
            {"name": "DP_DISABLE_HEALTHCHECKS", "value": _numbers(UNWATCHED_XIDS)},
            # What its own container is given, by the runtime class: all GPUs, and the library that it asks them by.
            {"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"},
            {"name": "NVIDIA_DRIVER_CAPABILITIES", "value": "compute,utility"},
        ],
        "resources": {"requests": {"cpu": "20m", "memory": "64Mi"}, "limits": {"memory": "512Mi"}},
        "security_context": {
            "allow_privilege_escalation": False,
            "read_only_root_filesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volume_mounts": [
            {"name": "plugins", "mount_path": PLUGINS},
            {"name": "specs", "mount_path": SPECS},
            {"name": "driver", "mount_path": f"{DRIVER_ROOT}/usr", "read_only": True},
        ],
    }


def _numbers(xids: tuple[int, ...]) -> str:
    return ",".join(str(number) for number in xids)
