"""Reports decisions to people and Kueue: Events on pods, conditions of ProvisioningRequests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta
from itertools import islice, zip_longest

from contract.kubernetes.api import Api, path_of
from contract.kubernetes.connection import ApiError
from contract.kubernetes.events import event_of, events_path
from services.autoscaler.cluster_state import NAME
from services.autoscaler.decision_log import DecisionLog
from services.autoscaler.evaluation import Evaluation
from services.autoscaler.gang_objects import has_expired
from services.autoscaler.leadership import LeadershipGuard
from services.autoscaler.pod_objects import Object
from services.autoscaler.repeated_lines import RepeatedLines, without_durations
from services.autoscaler.scaling_actions import ScalingAction, Verb

PODS_NOTIFIED = 3
"""Number of equal pods that get the same message."""
AT_ONCE = 20
"""Maximum number of Events in one pass; the others follow in the next."""
PATIENCE = timedelta(minutes=1)
"""Age from which a request with unsupported demands counts as failed. Objects that the request names may be made after
it."""

ACCEPTED = ("Accepted", "True", "Accepted", "the autoscaler serves the request")
"""Condition of a request that the autoscaler serves (k8s.io/autoscaler, ``provisioningrequest`` API: ``Accepted``,
``Provisioned``, ``Failed``, ``BookingExpired``, and their reasons in
cluster-autoscaler/provisioningrequest/conditions)."""


class ConditionWriter:
    """Writer of one process's reports."""

    def __init__(self, api: Api, *, guard: LeadershipGuard, instance: str, decision_log: DecisionLog) -> None:
        self._api, self._guard, self._instance, self._decision_log = api, guard, instance, decision_log
        self._repeats = RepeatedLines()

    def write(self, evaluation: Evaluation) -> None:
        """Report a decision. A failed report is logged, and stops nothing."""
        requests = {_name(item): item for item in evaluation.listed.requests}
        messages = {
            action.target: action for action in evaluation.decision.actions if action.verb in (Verb.TELL, Verb.GRANT)
        }
        for name, conditions in self._conditions(evaluation, requests, messages):
            self._guard.check()
            self._write(requests[name], conditions, evaluation)
        tells = [action for action in evaluation.decision.actions if action.verb is Verb.TELL]
        pods = {_name(item): item for item in evaluation.listed.pods} if tells else {}
        new = (
            (name, action)
            for name, action in _in_turn(tells)
            if name in pods and self._repeats.is_new(name, action.message)
        )
        for name, action in islice(new, AT_ONCE):
            self._guard.check()
            self._say(pods[name], action)
        self._repeats.forget()

    def _conditions(
        self, evaluation: Evaluation, requests: Mapping[str, Object], messages: Mapping[str, ScalingAction]
    ) -> Iterator[tuple[str, list[tuple[str, str, str, str]]]]:
        """Yield the conditions that requests should have: type, status, reason and message of each."""
        for gang in evaluation.gangs:
            if not gang.request or gang.granted:
                continue
            if gang.unknown and gang.created is not None and evaluation.now - gang.created > PATIENCE:
                yield gang.name, [("Failed", "True", gang.unknown[0].reason, "; ".join(map(str, gang.unknown)))]
            elif gang.name in messages and messages[gang.name].verb is Verb.GRANT:
                message = messages[gang.name].message
                yield gang.name, [ACCEPTED, ("Provisioned", "True", "CapacityIsProvisioned", message)]
            elif gang.name in messages:
                yield gang.name, [ACCEPTED, ("Provisioned", "False", "CapacityIsNotFound", messages[gang.name].message)]
            else:
                yield gang.name, [ACCEPTED]
        for name, item in requests.items():
            if has_expired(item, evaluation.now):
                words = "no pod has used the reserved room in time"
                yield name, [("BookingExpired", "True", "BookingExpired", words)]

    def _write(self, item: Object, wanted: list[tuple[str, str, str, str]], evaluation: Evaluation) -> None:
        """Set conditions, unless the request has them already. A request that has changed meanwhile gets them in the
        next pass."""
        known = {condition["type"]: condition for condition in (item.get("status") or {}).get("conditions") or ()}
        at = evaluation.now.isoformat(timespec="seconds").replace("+00:00", "Z")
        changed = False
        for type_, status, reason, message in wanted:
            before = known.get(type_, {})
            same = before.get("status") == status
            if (
                same
                and before.get("reason") == reason
                and without_durations(before["message"]) == without_durations(message)
            ):
                continue
            changed = True
            since = before["lastTransitionTime"] if same else at
            known[type_] = {"type": type_, "status": status, "reason": reason, "message": message}
            known[type_] |= {"lastTransitionTime": since, "observedGeneration": item["metadata"].get("generation", 1)}
        if not changed:
            return
        metadata = item["metadata"]
        group = path_of("apis", "autoscaling.x-k8s.io", "v1", "namespaces", metadata["namespace"])
        path = f"{group}/provisioningrequests{path_of(metadata['name'])}/status"
        body = {"metadata": {"resourceVersion": metadata["resourceVersion"]}}
        try:
            self._api.patch(path, {**body, "status": {"conditions": list(known.values())}})
        except ApiError as error:
            if error.status not in (404, 409):
                self._decision_log.record(f"request {_name(item)}", str(error))

    def _say(self, pod: Object, action: ScalingAction) -> None:
        about = {"apiVersion": "v1", "kind": "Pod", "metadata": pod["metadata"]}
        event = event_of(
            about,
            reason=action.reason,
            message=action.message,
            component=NAME,
            instance=self._instance,
            now=self._api.now(),
        )
        try:
            self._api.post(events_path(about), event)
        except ApiError as error:
            self._decision_log.record(f"event on {_name(pod)}", str(error))


def _in_turn(tells: Iterable[ScalingAction]) -> Iterator[tuple[str, ScalingAction]]:
    """Yield the names of pods with their messages, one of each namespace in turn, so that no namespace delays the
    others."""
    spaces: dict[str, list[tuple[str, ScalingAction]]] = {}
    for action in tells:
        for name in (action.pods or (action.target,))[:PODS_NOTIFIED]:
            spaces.setdefault(name.partition("/")[0], []).append((name, action))
    for turn in zip_longest(*spaces.values()):
        yield from (pair for pair in turn if pair)


def _name(item: Object) -> str:
    return f"{item['metadata']['namespace']}/{item['metadata']['name']}"
