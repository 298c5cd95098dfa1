"""Join endpoint, which verifies a machine's proof and creates a certificate request for the machine.

The endpoint grants nothing. It sends the request to the API with the proved identity as annotations. The node
controller decides on the request as on every other: it admits only machines that exist and names that are free, and a
limited number of machines per second.
"""

from __future__ import annotations

import base64
import json
import logging
import re
import threading
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from contract.annotations import PROVED_MACHINE, PROVED_SITE
from contract.certificate_requests import PATH as REQUESTS
from contract.certificate_requests import Attested, RefusedError, Request, condition
from contract.certificate_requests import parse as parse_request
from contract.documents.node_controller import CONFIGMAP, KEY, NodeEnvironment, NodeEnvironmentError, of_text
from contract.join_rates import PROOFS_A_SECOND, PROOFS_AT_ONCE
from contract.kubernetes.api import Api
from contract.kubernetes.connection import ApiError, Object
from contract.kubernetes.events import Events
from contract.object_names import NODE_PROOF_REFUSED, SYSTEM_CONFIGMAPS
from contract.token_buckets import Buckets
from contract.users import CLIENT_SIGNER, JOIN_USER
from join_endpoint.challenge import Challenges
from join_endpoint.outgoing_http import SourceError
from join_endpoint.proof import OBJECTS, ProofQuestion, Verifier

log = logging.getLogger(__name__)

ENVIRONMENT = f"{SYSTEM_CONFIGMAPS}/{CONFIGMAP}"
COMPONENT = "longhaul-join"

ENVIRONMENT_S = 5.0
"""Age in seconds after which the environment is read again."""

MACHINE_A_SECOND, MACHINE_AT_ONCE = 1 / 15, 4.0
"""Largest number of requests for one machine, per second and at once, so that a stolen identity cannot fill the API
with requests."""

SENDER_A_SECOND, SENDER_AT_ONCE = 1.0, 10.0
"""Largest number of proofs from one address, per second and at once. A machine needs one proof. A pod, which cannot
have a valid proof, must not take the machines' capacity."""

LOOKS_A_SECOND, LOOKS_AT_ONCE = 5.0, 50.0
"""Largest number of challenges and status queries from one address, per second and at once, because each status query
becomes a request to the API server. A waiting machine first asks five times a second, later every two seconds."""

_FINGERPRINT = re.compile(r"[0-9a-f]{64}")
_NODE = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")


@dataclass(frozen=True, kw_only=True)
class JoinAnswer:
    """Answer to a machine or a laptop."""

    status: int
    body: Mapping[str, object]


class JoinEndpoint:
    """The endpoint's answers to machines. Threads may share the object."""

    def __init__(
        self,
        api: Api,
        *,
        verifiers: Mapping[str, Verifier],
        events: Events,
        challenges: Challenges | None = None,
        quarantined: Callable[[], Collection[str]] = tuple,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._api, self._verifiers, self._events, self._clock = api, verifiers, events, clock
        self._quarantined = quarantined
        self._challenges = challenges or Challenges(clock=clock)
        self._lock = threading.Lock()
        self._all = Buckets(rate=PROOFS_A_SECOND, burst=PROOFS_AT_ONCE, clock=clock)
        self._senders = Buckets(rate=SENDER_A_SECOND, burst=SENDER_AT_ONCE, clock=clock)
        self._lookers = Buckets(rate=LOOKS_A_SECOND, burst=LOOKS_AT_ONCE, clock=clock)
        self._machines = Buckets(rate=MACHINE_A_SECOND, burst=MACHINE_AT_ONCE, clock=clock)
        self._environment: NodeEnvironment | None = None
        self._read_at = 0.0

    def challenge(self, fingerprint: str, *, sender: str) -> JoinAnswer:
        """Return a challenge for the holder of a key. ``sender`` is the holder's address."""
        if not self._lookers.take(sender):
            return _TOO_OFTEN
        if not _FINGERPRINT.fullmatch(fingerprint):
            return _answer(400, "Malformed", "write the SHA-256 of the public key, hexadecimal")
        return JoinAnswer(status=200, body={"challenge": self._challenges.make(fingerprint)})

    def join(self, posted: bytes, *, sender: str) -> JoinAnswer:
        """Make a certificate request for the machine whose proof is in ``posted``. ``sender`` is the machine's
        address."""
        if not (self._senders.take(sender) and self._all.take("")):
            return _answer(429, "TooMany", "there is more to look at than this server does: ask again")
        claimed = ""
        try:
            document, request, proof, challenge = _read(posted)
            claimed = _printable(request.node)
            attested = self._attested(request, proof, challenge)
            if request.node in self._quarantined():
                raise RefusedError("Quarantined", f"{request.node} is in quarantine")
            if not self._machines.take(attested):
                return _answer(429, "TooMany", f"{attested.machine} asks too often: ask again")
            self._ask(document, request, attested)
        except RefusedError as error:
            self._say(error, claimed=claimed, sender=sender)
            return _answer(403, error.reason, str(error))
        except (SourceError, ApiError) as error:
            log.warning("%s as %s cannot be answered now: %s", sender, claimed or "nobody", error)
            return _answer(503, "NotNow", str(error))
        log.info(
            "%s is %s of %s, and requests a certificate as %s", sender, attested.machine, attested.site, request.node
        )
        return JoinAnswer(status=202, body={})

    def look(self, fingerprint: str, *, sender: str) -> JoinAnswer:
        """Return the state of a key's request. ``sender`` is the client's address."""
        if not self._lookers.take(sender):
            return _TOO_OFTEN
        if not _FINGERPRINT.fullmatch(fingerprint):
            return _answer(404, "Unknown", "there is no such request")
        try:
            request = self._api.find(f"{REQUESTS}/{_name(fingerprint)}")
        except ApiError as error:
            return _answer(503, "NotNow", str(error))
        if request is None or request["spec"].get("username") != JOIN_USER:
            return _answer(404, "Unknown", "there is no such request: prove who asks, again")
        refused = condition(request, "Denied") or condition(request, "Failed")
        if refused is not None:
            return _answer(403, str(refused.get("reason", "Refused")), str(refused.get("message", "")))
        certificate = request.get("status", {}).get("certificate")
        if not certificate:
            return JoinAnswer(status=202, body={})
        return JoinAnswer(status=200, body={"certificate": base64.b64decode(certificate).decode()})

    def _attested(self, request: Request, proof: Mapping[str, object], challenge: str) -> Attested:
        if not self._challenges.knows(request.fingerprint, challenge):
            raise RefusedError("StaleProof", "the challenge is not this key's, or too old")
        verifier = self._verifiers.get(str(proof.get("kind")))
        if verifier is None:
            raise RefusedError("Malformed", f"kinds of proof that are known: {', '.join(self._verifiers)}")
        question = ProofQuestion(environment=self._known(), fingerprint=request.fingerprint, challenge=challenge)
        return verifier.attested(proof, question)

    def _known(self) -> NodeEnvironment:
        """Return the environment, which is read again after :data:`ENVIRONMENT_S`. While the ConfigMap is missing or
        unreadable, return the last good environment, or raise ``SourceError`` if there is none. Raise ``ApiError`` if
        the API does not answer."""
        with self._lock:
            cached, age = self._environment, self._clock() - self._read_at
        if cached is not None and age < ENVIRONMENT_S:
            return cached
        configmap = self._api.find(ENVIRONMENT)
        try:
            environment = of_text(str((configmap or {}).get("data", {}).get(KEY, "")))
        except NodeEnvironmentError as error:
            if cached is None:
                raise SourceError(f"{CONFIGMAP} does not exist or cannot be read yet: {OBJECTS}") from None
            log.warning("%s: %s; the earlier one stays in use", CONFIGMAP, error)
            environment = cached
        with self._lock:
            self._environment, self._read_at = environment, self._clock()
        return environment

    def _ask(self, document: Object, request: Request, attested: Attested) -> None:
        """Make the certificate request, unless the key already has a request. Raise ``RefusedError`` if the key's
        request is another machine's."""
        document["metadata"]["annotations"] = notes = {PROVED_SITE: attested.site, PROVED_MACHINE: attested.machine}
        try:
            self._api.post(REQUESTS, document)
        except ApiError as error:
            if error.status != 409:
                raise
            before = self._api.find(f"{REQUESTS}/{request.name}")
            known = (before or {}).get("metadata", {}).get("annotations", {})
            if before is not None and {key: known.get(key) for key in notes} != notes:
                raise RefusedError("KeyIsTaken", "another machine has asked with this key: make a new one") from None

    def _say(self, error: RefusedError, *, claimed: str, sender: str) -> None:
        message = _printable(f"{error.reason}: asked from {sender} as {claimed or 'nobody'}: {error}")
        if not _NODE.fullmatch(claimed):
            log.warning("%s: %s", NODE_PROOF_REFUSED, message)
            return
        about = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": claimed, "uid": claimed}}
        self._events.say(about, reason=NODE_PROOF_REFUSED, message=message, warning=True)


def _read(posted: bytes) -> tuple[Object, Request, Mapping[str, object], str]:
    """Return the posted document and its parsed request, the proof, and the challenge."""
    try:
        body = json.loads(posted)
        request, proof, challenge = body["request"], body["proof"], body["challenge"]
        # JSON may hold lone surrogates, which cannot be encoded as text.
        json.dumps([request, challenge], ensure_ascii=False).encode()
    except (ValueError, KeyError, TypeError, RecursionError):
        raise RefusedError("Malformed", "write JSON with request, challenge and proof") from None
    if not (isinstance(request, str) and isinstance(proof, dict) and isinstance(challenge, str)):
        raise RefusedError("Malformed", "write JSON with request, challenge and proof")
    document: Object = {
        "apiVersion": "certificates.k8s.io/v1",
        "kind": "CertificateSigningRequest",
        "metadata": {"name": ""},
        "spec": {
            "request": base64.b64encode(request.encode()).decode(),
            "signerName": CLIENT_SIGNER,
            "usages": ["digital signature", "client auth"],
        },
    }
    document["metadata"]["name"] = _name(parse_request(document).fingerprint)
    return document, parse_request(document), proof, challenge


def _name(fingerprint: str) -> str:
    """Return the name of a key's request. The name depends only on the key, so a machine that asks again finds its
    earlier request."""
    return f"longhaul-join-{fingerprint[:40]}"


def _printable(text: str) -> str:
    """Return text from a stranger as one short line for the journal."""
    return "".join(each if each.isprintable() else "?" for each in text[:500])


_TOO_OFTEN = JoinAnswer(status=429, body={"reason": "TooMany", "message": "this address asks too often: ask again"})


def _answer(status: int, reason: str, text: str) -> JoinAnswer:
    return JoinAnswer(status=status, body={"reason": reason, "message": text})
