"""Queue of certificate requests. Each request is approved, refused, or checked again later.

kube-node-signer.service signs approved requests. Only that service has the authority's key.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Protocol

from contract.certificate_requests import BOOTSTRAP, PATH, SIGNERS, RefusedError, Request, condition, issued, parse
from contract.join_rates import JOINS_A_SECOND, JOINS_AT_ONCE
from contract.kubernetes.api import Api, path_of
from contract.kubernetes.connection import ApiError, Object
from contract.kubernetes.events import Events
from contract.kubernetes.times import epoch_s
from contract.kubernetes.watch import Watch
from contract.object_names import NODE_REQUEST_DENIED
from contract.token_buckets import Bucket
from contract.users import JOIN_USER
from services.metrics import ServiceMetrics
from services.node_controller.judge import LOOK_AGAIN_S, Judge, WaitError
from services.node_controller.metrics import REQUESTS_GRANTED, REQUESTS_REFUSED, REQUESTS_SURPLUS
from services.node_controller.surplus_requests import surplus_requests

log = logging.getLogger(__name__)

REFUSED_KEPT_S = 120.0
"""Seconds after which a refused request is deleted. A kubelet with the same key sends its next request under the same
name. By then its machine may be in the list, or the machine's predecessor may have ended. The Event stays for an
hour."""

UNSIGNED = "it is approved, and no kube-node-signer.service has signed it"
"""Reason for which an approved request waits."""

RESYNC_S = 30.0
"""Longest time in seconds between two checks of all requests."""


class Grants(Protocol):
    """Record of granted certificates."""

    def granted(self, request: Request) -> None:
        """Record that a certificate was granted."""

    def joined(self, node: str) -> None:
        """Record that a node has proved that it has its certificate."""


class Requests:
    """Work on the requests in the memory of a watch."""

    def __init__(
        self,
        api: Api,
        watch: Watch,
        *,
        grants: Grants,
        events: Events,
        metrics: ServiceMetrics,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._api, self._watch, self._grants = api, watch, grants
        self._events, self._metrics, self._clock, self._wall = events, metrics, clock, wall
        self._bucket = Bucket(rate=JOINS_A_SECOND, burst=JOINS_AT_ONCE, clock=clock)
        self._seen_at: dict[str, float] = {}
        self._done: set[str] = set()
        self._reasons: dict[str, str] = {}
        self._wake = threading.Event()

    def wake(self) -> None:
        """Wake :meth:`run` after a change."""
        self._wake.set()

    def run(self, stop: threading.Event, judge: Callable[[], Judge | None]) -> None:
        """Work until ``stop`` is set. Without a judge, while no environment is known, every request waits."""
        while not stop.is_set():
            self._wake.clear()
            current_judge = judge()
            due = self.work(current_judge) if current_judge is not None else RESYNC_S
            self._wake.wait(due)

    def work(self, judge: Judge) -> float:
        """Check every request once. Return the seconds until the next check if nothing changes."""
        documents = {name: document for name, document in self._watch.by_name().items() if _ours(document)}
        for document in surplus_requests(documents.values()):
            self._drop(documents.pop(document["metadata"]["name"]))
        self._forget(documents)
        due = RESYNC_S
        for document in sorted(documents.values(), key=_turn):
            try:
                due = min(due, self._handle(document, judge))
            except ApiError as error:
                if error.status not in (404, 409):
                    log.warning("request %s: %s", document["metadata"]["name"], error)
                due = min(due, LOOK_AGAIN_S)
            except Exception:
                # Anyone may send any request: a fault in one must not stop the work on the others.
                log.exception("request %s cannot be worked on", document["metadata"]["name"])
        return due

    def _drop(self, document: Object) -> None:
        """Delete a request of a node that has too many. What fails is tried again with the next change."""
        metadata = document["metadata"]
        try:
            if self._api.delete(PATH + path_of(metadata["name"]), uid=metadata["uid"]):
                self._metrics.count(REQUESTS_SURPLUS)
                log.info("%s of %s is deleted: it has newer ones", metadata["name"], document["spec"]["username"])
        except ApiError as error:
            log.warning("request %s: %s", metadata["name"], error)

    def _forget(self, documents: Mapping[str, Object]) -> None:
        there = {str(document["metadata"]["uid"]) for document in documents.values()}
        self._seen_at = {uid: at for uid, at in self._seen_at.items() if uid in there}
        self._reasons = {uid: text for uid, text in self._reasons.items() if uid in there}
        self._done &= there

    def _handle(self, document: Object, judge: Judge) -> float:
        uid = str(document["metadata"]["uid"])
        refused = condition(document, "Denied")
        if refused is not None:
            return self._clean(document, refused)
        if issued(document) or condition(document, "Failed") is not None:
            return RESYNC_S
        seen_at = self._seen_at.setdefault(uid, self._clock())
        if condition(document, "Approved") is not None:
            return self._wait(document, UNSIGNED, waited_s=self._clock() - seen_at)
        if uid in self._done:
            return RESYNC_S
        try:
            request = parse(document)
            # The limit comes first, because the judge asks the API about each request.
            wait_s = self._bucket.wait_s() if request.joining else 0.0
            if wait_s > 0:
                return wait_s
            judge.check(request, seen_at=seen_at)
        except RefusedError as error:
            self._refuse(document, error)
            return REFUSED_KEPT_S
        except WaitError as error:
            return self._wait(document, str(error), waited_s=self._clock() - seen_at)
        if request.joining:
            self._bucket.take()
        self._grant(document, request)
        return RESYNC_S

    def _grant(self, document: Object, request: Request) -> None:
        # Recorded before the approval is published, so that a request in between finds the name taken.
        self._grants.granted(request)
        self._decide(document, "Approved", reason="MachineExists", message="its machine is in the list")
        uid = str(document["metadata"]["uid"])
        self._done.add(uid)
        # From now on it waits for its signature.
        self._seen_at[uid] = self._clock()
        self._metrics.count(REQUESTS_GRANTED, signer=request.signer, joining=str(request.joining).lower())
        log.info("%s: approved %s for %s", request.name, request.signer, request.node)
        if not request.joining:
            self._grants.joined(request.node)

    def _refuse(self, document: Object, error: RefusedError) -> None:
        user = document["spec"].get("username", "")
        message = f"asked by {user}: {error}"
        self._decide(document, "Denied", reason=error.reason, message=message)
        self._done.add(str(document["metadata"]["uid"]))
        self._metrics.count(REQUESTS_REFUSED, reason=error.reason)
        self._events.say(document, reason=NODE_REQUEST_DENIED, message=f"{error.reason}: {message}", warning=True)

    def _wait(self, document: Object, text: str, *, waited_s: float) -> float:
        """Return the seconds until the next check of a waiting request. After a minute, write an Event with each new
        reason."""
        uid = str(document["metadata"]["uid"])
        if waited_s > 60 and self._reasons.get(uid) != text:
            self._reasons[uid] = text
            self._events.say(document, reason="NodeRequestWaiting", message=text, warning=True)
        return LOOK_AGAIN_S

    def _decide(self, document: Object, kind: str, *, reason: str, message: str) -> None:
        decided = _with(document, {"type": kind, "status": "True", "reason": reason, "message": message})
        self._api.put(PATH + path_of(document["metadata"]["name"], "approval"), decided)

    def _clean(self, document: Object, refused: Mapping[str, str]) -> float:
        """Delete a request that was refused :data:`REFUSED_KEPT_S` ago. Return the seconds until the next check."""
        metadata = document["metadata"]
        left = epoch_s(refused.get("lastUpdateTime") or metadata["creationTimestamp"]) + REFUSED_KEPT_S - self._wall()
        if left <= 0:
            self._api.delete(PATH + path_of(metadata["name"]), uid=metadata["uid"])
            return RESYNC_S
        return left


def _ours(document: Object) -> bool:
    return document.get("spec", {}).get("signerName") in SIGNERS


def _turn(document: Object) -> tuple[bool, str]:
    """Return a sort key. Requests of joined nodes come before requests of joining nodes, and older requests before
    newer ones."""
    user = str(document["spec"].get("username", ""))
    return user == JOIN_USER or user.startswith(BOOTSTRAP), str(document["metadata"]["creationTimestamp"])


def _with(document: Object, added: Mapping[str, str]) -> Object:
    """Return a copy of the request with one more condition."""
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    status = document.get("status", {})
    conditions = [*status.get("conditions", []), {**added, "lastUpdateTime": now}]
    return {
        "apiVersion": "certificates.k8s.io/v1",
        "kind": "CertificateSigningRequest",
        **{key: document[key] for key in ("metadata", "spec")},
        "status": {**status, "conditions": conditions},
    }
