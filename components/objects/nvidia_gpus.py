"""NVIDIA's GPUs for pods: the device plugin on every machine with GPUs, and the runtime class by which the plugin
reaches the driver.

The plugin gives the kubelet the names of a container's GPUs, and the kubelet passes them to containerd (``cdi-cri``).
So the GPUs are part of the container from the start. By default the plugin sets an environment variable instead, and a
hook adds the GPUs later. The kubelet and containerd then do not know of them, and the container loses them as soon as
the kubelet's static policy sets its processors (github.com/NVIDIA/k8s-device-plugin, issue 145). The plugin's remedy
(``PASS_DEVICE_SPECS``) requires a privileged plugin.

The plugin describes the GPUs in ``/run/cdi``: their device nodes, and the driver's libraries in the host's ``/usr``.

The plugin starts before a machine's GPUs have passed their preflight test. A taint keeps pods away until then. Once it
is removed, the GPUs are available at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pulumi import ComponentResource, ResourceOptions
from pulumi_kubernetes.node.v1 import RuntimeClass

from components.model.versions.section import pinned
from components.objects.admission import refuse
from components.objects.device_plugins import PLUGINS, UNPRIVILEGED, daemon_set, device_plugin, of_host
from components.objects.object_metadata import meta
from contract.labels import GPU_LABEL, NAMESPACE_LABEL
from contract.object_names import SYSTEM_NAMESPACE
from contract.resources import GPU_RESOURCE

if TYPE_CHECKING:
    from pulumi_kubernetes.admissionregistration.v1 import (
        NamedRuleWithOperationsArgsDict,
        ValidatingAdmissionPolicySpecArgsDict,
    )
    from pulumi_kubernetes.apps.v1 import DaemonSetSpecArgsDict
    from pulumi_kubernetes.core.v1 import ContainerArgsDict, PodSpecArgsDict
    from pulumi_kubernetes.meta.v1 import LabelSelectorArgsDict

PART = "gpus"
NAME = "nvidia-device-plugin"
RUNTIME = "nvidia"
"""Name of the runtime class, and of containerd's handler (role nvidia_container_toolkit)."""
POLICY = "longhaul-gpu-runtime"
"""Name of the policy that reserves the runtime class for Kubernetes' own namespace."""
ALL_GPUS = f"runtimeClassName {RUNTIME} gives a pod all GPUs of its machine: ask for {GPU_RESOURCE} instead, without it"
SELECTOR = {"k8s-app": NAME}
SPECS = "/var/run/cdi"
"""Folder for the plugin's descriptions of its GPUs (``cdiRoot`` in its internal/cdi/cdi.go), where containerd reads
them."""
DRIVER_ROOT = "/driver-root"
"""Folder in which the plugin looks for the host's files (``DefaultContainerDriverRoot``, its
api/config/v1/consts.go)."""
CDI_HOOK = "/usr/local/lib/longhaul/gpu/nvidia-cdi-hook"
"""Program on the host that links the driver's libraries when a container starts. It calls NVIDIA's own program, whose
path depends on how the machine got the toolkit."""
ARGS = (
    "--device-list-strategy=cdi-cri",
    # Without a driver the plugin ends, so that the fault is noticed.
    "--device-discovery-strategy=nvml",
    "--fail-on-init-error=true",
    # Instances of a GPU (MIG) are not offered.
    "--mig-strategy=none",
    # The loss of a GPU changes the others' numbers, but never their identities.
    "--device-id-strategy=uuid",
    f"--nvidia-cdi-hook-path={CDI_HOOK}",
)
WATCHED_XIDS = (109,)
"""Xids that the plugin treats as an application's error although NVIDIA's catalog requires a reset."""
UNWATCHED_XIDS = (63, 94)
"""Xids for which the plugin would withdraw a GPU although the catalog does not require it: remapped memory (63) works,
and a contained error (94) ends only its application. If such a GPU has to be drained, its driver reports 154, which the
plugin watches. The list in docs/gpus.md has these two and the five that the plugin leaves out itself (13, 31, 43, 45,
68)."""


class Gpus(ComponentResource):
    """The runtime class and the plugin; for environments that have GPUs."""

    def __init__(self, name: str, opts: ResourceOptions | None = None) -> None:
        super().__init__("longhaul:objects:Gpus", name, None, opts)
        # The policy is made first.
        kept = refuse(POLICY, runtime_policy(), part=PART, parent=self)
        runtime = RuntimeClass(
            RUNTIME,
            metadata=meta(RUNTIME, part=PART),
            handler=RUNTIME,
            # Other machines' containerd has no such handler: a pod would hang there.
            scheduling={"node_selector": {GPU_LABEL: "true"}},
            opts=ResourceOptions(parent=self, depends_on=[kept]),
        )
        options = ResourceOptions(parent=self, depends_on=[runtime])
        device_plugin(NAME, plugin_spec(), part=PART, selector=SELECTOR, opts=options)
        self.register_outputs({})


def runtime_policy() -> ValidatingAdmissionPolicySpecArgsDict:
    """Return the policy that refuses the runtime class outside Kubernetes' own namespace. A container of that class
    gets every GPU of the machine, other pods' included, if its image or its specification sets
    ``NVIDIA_VISIBLE_DEVICES``. It need not request any GPU."""
    elsewhere: LabelSelectorArgsDict = {
        "match_expressions": [{"key": NAMESPACE_LABEL, "operator": "NotIn", "values": [SYSTEM_NAMESPACE]}]
    }
    pods: NamedRuleWithOperationsArgsDict = {
        "api_groups": [""],
        "api_versions": ["*"],
        # A pod's runtime class cannot be changed.
        "operations": ["CREATE"],
        "resources": ["pods"],
    }
    return {
        "match_constraints": {"resource_rules": [pods], "namespace_selector": elsewhere},
        "failure_policy": "Fail",
        "validations": [
            {
                "expression": f"object.spec.?runtimeClassName.orValue('') != '{RUNTIME}'",
                "message": ALL_GPUS,
                "reason": "Forbidden",
            }
        ],
    }


def plugin_spec() -> DaemonSetSpecArgsDict:
    """Return the specification of the plugin, which runs on every machine with GPUs."""
    pod: PodSpecArgsDict = {
        "runtime_class_name": RUNTIME,
        "node_selector": {GPU_LABEL: "true"},
        "containers": [_container()],
        "volumes": [
            of_host("plugins", PLUGINS, kind="Directory"),
            of_host("specs", SPECS, kind="DirectoryOrCreate"),
            # Not the whole host, as in NVIDIA's chart: /run contains sockets, such as containerd's, which a read-only
            # mount leaves usable.
            of_host("driver", "/usr", kind="Directory"),
        ],
    }
    return daemon_set(pod, part=PART, selector=SELECTOR)


def _container() -> ContainerArgsDict:
    return {
        "name": NAME,
        "image": f"nvcr.io/nvidia/k8s-device-plugin:v{pinned('k8s-device-plugin')}",
        "args": list(ARGS),
        "env": [
            {"name": "DP_ENABLE_HEALTHCHECKS", "value": _numbers(WATCHED_XIDS)},
            {"name": "DP_DISABLE_HEALTHCHECKS", "value": _numbers(UNWATCHED_XIDS)},
            # The runtime class gives the plugin's own container all GPUs, and the library by which it queries them.
            {"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"},
            {"name": "NVIDIA_DRIVER_CAPABILITIES", "value": "compute,utility"},
        ],
        "resources": {"requests": {"cpu": "20m", "memory": "64Mi"}, "limits": {"memory": "512Mi"}},
        "security_context": UNPRIVILEGED,
        "volume_mounts": [
            {"name": "plugins", "mount_path": PLUGINS},
            {"name": "specs", "mount_path": SPECS},
            {"name": "driver", "mount_path": f"{DRIVER_ROOT}/usr", "read_only": True},
        ],
    }


def _numbers(xids: tuple[int, ...]) -> str:
    return ",".join(str(number) for number in xids)
