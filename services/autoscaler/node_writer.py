"""Writes to nodes: cordons them, and evicts pods that may move."""

from __future__ import annotations

from collections.abc import Iterable

from contract.annotations import SCALE_IN
from contract.kubernetes.api import Api
from contract.kubernetes.connection import ApiError
from contract.kubernetes.drain import annotate, cordon, evict, pod_of, uncordon
from services.autoscaler.actions import ScalingAction, Verb
from services.autoscaler.guard import Guard
from services.autoscaler.journal import DecisionJournal
from services.autoscaler.look import DecisionWithInput
from services.autoscaler.pod_objects import Object

CHANGED = "it has changed meanwhile"


class NodeWriter:
    """Writes of one process. A node is only written if it has not changed since it was observed."""

    def __init__(self, api: Api, *, guard: Guard, journal: DecisionJournal) -> None:
        self._api, self._guard, self._journal = api, guard, journal

    def write(self, looked: DecisionWithInput) -> None:
        """Carry out a decision's actions on nodes. An error on one node does not stop the others."""
        self._forget_cordons(looked.listed.nodes)
        mine = [
            decided for decided in looked.decision.actions if decided.verb in (Verb.UNCORDON, Verb.CORDON, Verb.DRAIN)
        ]
        pods = {_name(item): item for item in looked.listed.pods} if any(decided.pods for decided in mine) else {}
        for action in mine:
            self._guard.check()
            try:
                left = self._write(action, looked.nodes[action.target], pods, looked)
            except ApiError as error:
                left = str(error)
            if left:
                self._journal.left(action, left)
            else:
                self._journal.done(action)

    def _forget_cordons(self, nodes: Iterable[Object]) -> None:
        """Remove the autoscaler's annotation from nodes that somebody else has uncordoned: otherwise the next manual
        cordon would look like the autoscaler's."""
        for node in nodes:
            metadata = node["metadata"]
            if SCALE_IN in (metadata.get("annotations") or {}) and not node["spec"].get("unschedulable"):
                self._guard.check()
                try:
                    if annotate(self._api, dict(node), {SCALE_IN: None}):
                        self._journal.say(metadata["name"], "somebody has uncordoned it: the cordon's note is gone")
                except ApiError as error:
                    self._journal.say(metadata["name"], str(error))

    def _write(self, action: ScalingAction, node: Object, pods: dict[str, Object], looked: DecisionWithInput) -> str:
        """Carry out one action. Return why it was not done; empty when it was."""
        if action.verb is Verb.CORDON:
            since = {SCALE_IN: looked.now.isoformat(timespec="seconds")}
            return "" if cordon(self._api, dict(node), annotations=since) else CHANGED
        if action.verb is Verb.UNCORDON:
            return "" if uncordon(self._api, dict(node), annotations=[SCALE_IN]) else CHANGED
        return "; ".join(f"{name}: {why}" for name in action.pods if (why := self._evict(pods.get(name))))

    def _evict(self, item: Object | None) -> str:
        return evict(self._api, pod_of(item)) if item else ""


def _name(item: Object) -> str:
    return f"{item['metadata']['namespace']}/{item['metadata']['name']}"
