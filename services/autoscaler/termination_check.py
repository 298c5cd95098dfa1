"""The last check before a machine is ended: whether the facts behind the decision are still true."""

from __future__ import annotations

from contract.annotations import KEEP, ROLL, SCALE_IN
from contract.kubernetes.api import Api, path_of
from contract.kubernetes.drain import pods_on, work_on
from contract.kubernetes.paths import NODES
from contract.kubernetes.readiness import ready_condition
from contract.taints import CORDON
from services.autoscaler.evaluation import Evaluation
from services.autoscaler.group_reader import GroupAnswer
from services.autoscaler.pod_objects import Object
from services.autoscaler.scaling_actions import ScalingAction


class TerminationCheck:
    """Check that asks the API servers directly, since a watch's content may be slightly outdated."""

    def __init__(self, api: Api) -> None:
        self._api = api

    def why_not(self, action: ScalingAction, asked: GroupAnswer, evaluation: Evaluation) -> str:
        """Return why a machine must not be ended now; empty when it may be."""
        machines = asked.group.machines if asked.group else ()
        name = next((machine.node for machine in machines if machine.id == action.machine), action.target)
        observed = evaluation.nodes.get(name)
        node = self._api.find(NODES + path_of(name))
        if observed is None:
            return "it has become a node" if node else ""
        if node is None:
            return "its node is gone"
        if node["metadata"]["uid"] != observed["metadata"]["uid"]:
            return "its node is another one now"
        why = _protected(node) or ("" if _fitness(node) == _fitness(observed) else "its health has changed")
        return why or self._occupied(name, all_must_go=_is_ours(observed))

    def _occupied(self, name: str, *, all_must_go: bool) -> str:
        """Return text about a pod that keeps the machine from being ended; empty without one. With ``all_must_go``,
        this is any pod that must leave; otherwise only a pod with work."""
        pods = pods_on(self._api, name)
        left = [pod for pod in pods if not pod.stays] if all_must_go else work_on(pods)
        return f"{left[0]} is on it" if left else ""


def _is_ours(node: Object) -> bool:
    return SCALE_IN in (node["metadata"].get("annotations") or {}) and bool(node["spec"].get("unschedulable"))


def _protected(node: Object) -> str:
    annotations = node["metadata"].get("annotations") or {}
    if annotations.get(KEEP, "false") != "false":
        return f"it has {KEEP}"
    if ROLL in annotations:
        return "a roll is replacing it"
    cordoned = bool(node["spec"].get("unschedulable"))
    return "somebody has cordoned it" if cordoned and SCALE_IN not in annotations else ""


def _fitness(node: Object) -> tuple[str, list[str]]:
    """Return whether a node is ready, and its taints. The taint of a cordon comes some time after the cordon, which is
    looked at by itself."""
    taints = sorted(taint["key"] for taint in node["spec"].get("taints") or () if taint["key"] != CORDON)
    return ready_condition(node).status, taints
