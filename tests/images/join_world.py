"""A join endpoint on loopback, with an API and a verifier of proofs whose answers a test gives."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from join_endpoint.challenge import Challenges
from join_endpoint.https_listener import Server
from join_endpoint.join_requests import ENVIRONMENT, REQUESTS, JoinAnswer, JoinEndpoint
from join_endpoint.proof import ProofQuestion

from components.control_plane import issuing
from contract.certificate_requests import Attested
from contract.documents.node_controller import CONFIGMAP, KEY
from contract.kubernetes.connection import ApiError
from contract.kubernetes.events import Events
from tests.images import kubelets
from tests.images.fake_api import FakeApi
from tests.services.node_controller.world import ENVIRONMENT as DOCUMENT

NODE = "i-0123456789abcdef0"
SERVICE = "join.lab.internal"
PROOF = {"kind": "told"}
SENDER = "10.65.128.4"


class Api(FakeApi):
    """Keeps created objects, one for each name; ``grant`` signs a request as the node signer would."""

    def __init__(self) -> None:
        super().__init__()
        self._authority = issuing.new_authority(common_name="lab nodes", days=1, key=issuing.new_key())
        self.user = "longhaul:join"
        document = {"metadata": {"name": CONFIGMAP}, "data": {KEY: json.dumps(DOCUMENT)}}
        self.objects[ENVIRONMENT] = document

    def _request(self, method: str, path: str, *, query: Any = None, body: Any = None, **more: Any) -> dict[str, Any]:
        made = super()._request(method, path, query=query, body=body, **more)
        if method == "POST" and path == REQUESTS:
            own = f"{REQUESTS}/{body['metadata']['name']}"
            if own in self.objects:
                raise ApiError("already exists", status=409)
            self.objects[own] = {**body, "spec": {**body["spec"], "username": self.user}}
        return made

    @property
    def requests(self) -> list[dict[str, Any]]:
        return [document for path, document in self.objects.items() if path.startswith(REQUESTS)]

    def decide(self, kind: str, *, reason: str = "") -> None:
        for document in self.requests:
            document["status"] = {"conditions": [{"type": kind, "reason": reason, "message": f"because: {reason}"}]}

    def grant(self) -> None:
        for document in self.requests:
            document["status"] = {"certificate": kubelets.signed(document, self._authority)}


class Told:
    """A verifier with a test's answer."""

    def __init__(self) -> None:
        self.answer: Attested | Exception = Attested(site="use1", machine=NODE)
        self.asked: list[ProofQuestion] = []

    def attested(self, proof: Mapping[str, object], question: ProofQuestion) -> Attested:
        self.asked.append(question)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


class JoinWorld:
    """The join endpoint, its certificate, and the part that decides."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.now = folder, 1000.0
        self.quarantined: set[str] = set()
        self.api, self.told = Api(), Told()
        self.challenges = Challenges(clock=lambda: self.now)
        self.endpoint = JoinEndpoint(
            self.api,
            verifiers={"told": self.told, "aws": self.told},
            events=Events(self.api, instance="lab-api-0", component="longhaul-join"),
            challenges=self.challenges,
            quarantined=lambda: self.quarantined,
            clock=lambda: self.now,
        )
        authority = issuing.new_authority(common_name="lab Kubernetes", days=1, key=issuing.new_key())
        (folder / "ca.crt").write_text(authority.certificate)
        self.authority, self.certificate = authority, folder / "join.pem"
        self.write_certificate(SERVICE)
        self.server = Server(("127.0.0.1", 0), self.endpoint, certificate=self.certificate, clock=lambda: self.now)
        self.port = int(self.server.server_address[1])

    def write_certificate(self, name: str) -> None:
        subject = issuing.Subject(common_name="longhaul:join", dns_names=[name], usages=["server", "client"], days=1)
        pair = issuing.issue(subject, authority=self.authority)
        self.certificate.write_text(pair.certificate + pair.key)

    def __enter__(self) -> JoinWorld:
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.server.shutdown()
        self.server.server_close()

    def join(
        self, request: str, print_: str, *, challenge: str | None = None, sender: str = SENDER, **changes: Any
    ) -> JoinAnswer:
        given = self.endpoint.challenge(print_, sender=sender).body["challenge"] if challenge is None else challenge
        said = {"request": request, "challenge": given, "proof": PROOF, **changes}
        return self.endpoint.join(json.dumps(said).encode(), sender=sender)
