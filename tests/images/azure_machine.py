"""The signing parts of the lab's Azure, a service that trusts its authority, and signatures of others."""

from __future__ import annotations

import base64
import json
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from join_endpoint.azure import AzureProofs
from join_endpoint.azure_tokens import Tenant
from join_endpoint.proof import ProofQuestion

from components.control_plane import issuing
from contract.certificate_requests import Attested, RefusedError
from contract.documents.node_controller import NodeEnvironment, NodeSite
from contract.documents.pools import DeclaredPool
from lab.cloud.azure.attested import Attester, Facts
from lab.cloud.azure.identity import TokenEndpoints
from lab.cloud.pki import ensure_pki
from lab.cloud.store import DocumentStore
from tests.support.loopback import Answering

TENANT, SUBSCRIPTION = "00000000-0000-4000-8000-000000000002", "00000000-0000-4000-8000-000000000001"
MACHINE = "11111111-2222-4333-8444-555555555555"
NONCE = "0123456789"
SET = (
    f"/subscriptions/{SUBSCRIPTION}/resourcegroups/lab-weu/providers/Microsoft.Compute/virtualMachineScaleSets/lab-gpu"
)
ARM = "https://management.azure.com/"

ENVIRONMENT = NodeEnvironment(
    name="lab",
    aws_role="",
    sites={
        "weu": NodeSite(
            name="weu",
            kind="azure",
            region="westeurope",
            subscription=SUBSCRIPTION,
            resource_group="lab-weu",
            tenant=TENANT,
        )
    },
    pools={"gpu": DeclaredPool(name="gpu", site="weu", groups=("lab-gpu", "lab-gpu-s1"))},
    hosts={},
)
QUESTION = ProofQuestion(environment=ENVIRONMENT, fingerprint="ab" * 32, challenge=NONCE)
FACTS = Facts(vm_id=MACHINE, subscription=SUBSCRIPTION, size="Standard_NC24ads_A100_v4")


class Azure:
    """The signing parts of the lab's Azure, and a service that trusts its authority."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.now, self.clock = folder, datetime.now(UTC), 1000.0
        ensure_pki(folder / "ca", ("login.microsoftonline.com",))
        self.attester = Attester(folder / "ca")
        self.store = DocumentStore(folder / "store.sqlite")
        self.identity = TokenEndpoints(state=folder, store=self.store, tenant=TENANT)
        self.keys: Callable[[], tuple[int, bytes]] = lambda: (
            200,
            json.dumps({"keys": [self.identity._jwk()]}).encode(),
        )
        self.login = Answering(lambda _: self.keys())
        self.proofs = AzureProofs(
            roots=folder / "ca" / "ca.pem",
            tenant=lambda name: Tenant(name, login=self.login.url, clock=lambda: self.clock),
            now=lambda: self.now,
        )

    def document(self, facts: Facts = FACTS, *, nonce: str = NONCE) -> str:
        return self.attester.document(facts, nonce=nonce)["signature"]

    def token(self, *, resource: str = SET, audience: str = ARM, life_s: int = 3600) -> str:
        return self.identity.token(object_id="o", app_id="a", audience=audience, life_s=life_s, resource_id=resource)

    def says(self, **changes: Any) -> Attested | str:
        """Return the machine that a proof is about, or the reason of the refusal. No refusal contains a part of the
        proof."""
        proof = {"document": self.document(), "token": self.token(), "chain": [], **changes}
        refused = ""
        try:
            return self.proofs.attested(proof, QUESTION)
        except RefusedError as error:
            refused = f"{error.reason} {error}"
        assert not [secret for secret in (proof["token"], proof["document"]) if secret and str(secret) in refused]
        return refused.partition(" ")[0]


def sign(folder: Path, content: bytes, pair: issuing.Pair) -> str:
    """Sign as anyone can, with openssl."""
    (folder / "signer.pem").write_text(pair.certificate + pair.key)
    (folder / "content").write_bytes(content)
    command = ["openssl", "cms", "-sign", "-binary", "-nodetach", "-outform", "DER", "-signer", "signer.pem"]
    done = subprocess.run([*command, "-in", "content"], cwd=folder, capture_output=True, check=True)
    return base64.b64encode(done.stdout).decode()
