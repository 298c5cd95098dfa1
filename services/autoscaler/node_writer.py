"""Writes to nodes: cordons them, and evicts pods that may move."""

from __future__ import annotations

from collections.abc import Iterable

from contract.annotations import SCALE_IN
from contract.kubernetes.api import Api
from contract.kubernetes.connection import ApiError
from contract.kubernetes.drain import annotate, cordon, evict, pod_of, uncordon
from services.autoscaler.decision_log import DecisionLog
from services.autoscaler.evaluation import Evaluation
from services.autoscaler.leadership import LeadershipGuard
from services.autoscaler.pod_objects import Object
from services.autoscaler.scaling_actions import ScalingAction, Verb

CHANGED = "it has changed meanwhile"


class NodeWriter:
    """Writer of one process. A node is written only if it has not changed since it was observed."""

    def __init__(self, api: Api, *, guard: LeadershipGuard, decision_log: DecisionLog) -> None:
        self._api, self._guard, self._decision_log = api, guard, decision_log

    def write(self, evaluation: Evaluation) -> None:
        """Carry out a decision's actions on nodes. An error on one node does not stop the others."""
        self._forget_cordons(evaluation.listed.nodes)
        mine = [
            decided
            for decided in evaluation.decision.actions
            if decided.verb in (Verb.UNCORDON, Verb.CORDON, Verb.DRAIN)
        ]
        pods = {_name(item): item for item in evaluation.listed.pods} if any(decided.pods for decided in mine) else {}
        for action in mine:
            self._guard.check()
            try:
                left = self._write(action, evaluation.nodes[action.target], pods, evaluation)
            except ApiError as error:
                left = str(error)
            if left:
                self._decision_log.not_done(action, left)
            else:
                self._decision_log.done(action)

    def _forget_cordons(self, nodes: Iterable[Object]) -> None:
        """Remove the autoscaler's annotation from nodes that somebody else has uncordoned: otherwise the next manual
        cordon would look like the autoscaler's."""
        for node in nodes:
            metadata = node["metadata"]
            if SCALE_IN in (metadata.get("annotations") or {}) and not node["spec"].get("unschedulable"):
                self._guard.check()
                try:
                    if annotate(self._api, dict(node), {SCALE_IN: None}):
                        self._decision_log.record(
                            metadata["name"], "somebody has uncordoned it: the cordon's note is gone"
                        )
                except ApiError as error:
                    self._decision_log.record(metadata["name"], str(error))

    def _write(self, action: ScalingAction, node: Object, pods: dict[str, Object], evaluation: Evaluation) -> str:
        """Carry out one action. Return why it was not done; empty when it was."""
        if action.verb is Verb.CORDON:
            since = {SCALE_IN: evaluation.now.isoformat(timespec="seconds")}
            return "" if cordon(self._api, dict(node), annotations=since) else CHANGED
        if action.verb is Verb.UNCORDON:
            return "" if uncordon(self._api, dict(node), annotations=[SCALE_IN]) else CHANGED
        return "; ".join(f"{name}: {why}" for name in action.pods if (why := self._evict(pods.get(name))))

    def _evict(self, item: Object | None) -> str:
        return evict(self._api, pod_of(item)) if item else ""


def _name(item: Object) -> str:
    return f"{item['metadata']['namespace']}/{item['metadata']['name']}"
