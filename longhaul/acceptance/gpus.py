"""A check of GPUs: nodes offer the number that the file declares, and a pod is given one."""

from __future__ import annotations

from collections import Counter

from components.model.nodes.host_nodes import host_node_name
from contract.kubernetes.api import path_of
from contract.kubernetes.connection import Object
from contract.kubernetes.paths import NAMESPACES, NODES
from contract.kubernetes.readiness import is_ready
from contract.labels import HOSTS_POOL_LABEL, POOL_LABEL
from contract.resources import GPU_RESOURCE
from longhaul.acceptance.check import NotApplicableError, NotSoError
from longhaul.acceptance.pods import await_pods, namespace
from longhaul.acceptance.target import AcceptanceTarget

SPACE = "longhaul-acceptance-gpus"


def gpu_pods(target: AcceptanceTarget) -> str:
    """Check that each node with GPUs offers the declared number of them, and run a pod there that requests one GPU."""
    environment, api = target.environment, target.api("")
    declared = {name: environment.machine_type(pool.machine_type).gpus for name, pool in environment.pools.items()}
    hosts = {host_node_name(environment, host.name): host.gpus for host in environment.hosts}
    nodes = {str(item["metadata"]["name"]): item for item in api.items(NODES) if is_ready(item)}
    wanted = {name: count for name, item in nodes.items() if (count := _declared(item, declared, hosts))}
    if not wanted:
        raise NotApplicableError("no node has GPUs")
    for name, count in wanted.items():
        offered = int(nodes[name]["status"].get("allocatable", {}).get(GPU_RESOURCE, 0))
        if offered != count:
            raise NotSoError(f"{name} offers {offered} GPUs, the file says {count}")
    with namespace(api, target.condition_deadline, SPACE) as space:
        for name in wanted:
            api.post(f"{NAMESPACES}{path_of(space)}/pods", _pod(name, target.image))
        await_pods(api, target.condition_deadline(), space, len(wanted))
    counts = Counter(wanted.values())
    offers = ", ".join(f"{number} with {gpus}" for gpus, number in sorted(counts.items()))
    return f"nodes offer their GPUs ({offers}); a pod on each was given one"


def _declared(item: Object, pools: dict[str, int], hosts: dict[str, int]) -> int:
    pool = item["metadata"]["labels"].get(POOL_LABEL, "")
    return hosts.get(item["metadata"]["name"], 0) if pool == HOSTS_POOL_LABEL else pools.get(pool, 0)


def _pod(node: str, image: str) -> Object:
    """Return a pod that is bound to this node, whatever taints keep ordinary work away from it."""
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}
    container = {"name": "agnhost", "image": image, "args": ["pause"], "resources": {"limits": {GPU_RESOURCE: "1"}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"gpu-{node}"},
        "spec": {
            "affinity": affinity,
            "tolerations": [{"operator": "Exists"}],
            "containers": [container],
            "terminationGracePeriodSeconds": 1,
        },
    }
