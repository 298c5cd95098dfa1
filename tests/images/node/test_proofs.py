"""An Azure machine's proof: its parts, and that the service accepts it. For AWS machines see test_attest_aws.py."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import AuthorityInformationAccessOID, ExtendedKeyUsageOID, NameOID
from join_endpoint.azure import AzureProofs
from join_endpoint.azure_tokens import Tenant
from machine import managed_identity
from node import proofs as node_proofs
from node.attest import JoinError, ProofRequest

from components.control_plane import issuing
from contract.certificate_requests import Attested, RefusedError
from tests.images.azure_machine import ARM, MACHINE, NONCE, QUESTION, SET, SUBSCRIPTION, Azure, sign
from tests.support.loopback import Answering

ASKED = ProofRequest(cluster="lab", fingerprint="ab" * 32, challenge=NONCE)
METADATA = "http://169.254.169.254"


class Authorities:
    """Authorities like Azure's: a root that systems know, one below it, and the metadata service's signer, whose
    certificate has the address of its issuer's certificate."""

    def __init__(self, url: str) -> None:
        self.root_key, self.between_key, self.key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(3))
        self.root = self._make("root", "root", self.root_key, self.root_key)
        self.between = self._make("between", "root", self.between_key, self.root_key)
        self.signer = self._make("metadata.azure.com", "between", self.key, self.between_key, url=url)

    def pair(self) -> issuing.Pair:
        form = serialization.PrivateFormat.PKCS8
        key = self.key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())
        return issuing.Pair(certificate=pem(self.signer), key=key.decode())

    def _make(
        self,
        name: str,
        issuer: str,
        key: ec.EllipticCurvePrivateKey,
        by: ec.EllipticCurvePrivateKey,
        *,
        url: str = "",
    ) -> x509.Certificate:
        names = [x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, each)]) for each in (name, issuer)]
        now = datetime.now(UTC)
        builder = x509.CertificateBuilder().subject_name(names[0]).issuer_name(names[1]).public_key(key.public_key())
        builder = builder.serial_number(x509.random_serial_number()).not_valid_before(now - timedelta(minutes=5))
        builder = builder.not_valid_after(now + timedelta(days=1))
        builder = builder.add_extension(x509.BasicConstraints(ca=not url, path_length=None), critical=True)
        if url:
            where = x509.AccessDescription(
                AuthorityInformationAccessOID.CA_ISSUERS, x509.UniformResourceIdentifier(f"{url}/between.crt")
            )
            builder = builder.add_extension(x509.AuthorityInformationAccess([where]), critical=False)
            usages = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])
            builder = builder.add_extension(usages, critical=False)
        return builder.sign(by, hashes.SHA256())


def pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode()


class Machine:
    """The metadata service of a scale set's machine."""

    def __init__(self, folder: Path, azure: Azure) -> None:
        self.folder, self.azure, self.status = folder, azure, 200
        self.issuers = Answering(lambda _: (self.status, self.authorities.between.public_bytes(DER)))
        self.authorities = Authorities(self.issuers.url)
        (folder / "root.pem").write_text(pem(self.authorities.root))

    def ask(self, url: str, *, headers: dict[str, str], method: str = "GET", timeout_s: float = 2.0) -> str:
        assert timeout_s > 0
        parts = urlsplit(url)
        query = parse_qs(parts.query)
        assert url.startswith(f"{METADATA}/metadata/")
        assert (headers, method) == ({"Metadata": "true"}, "GET")
        assert query["api-version"]
        if parts.path.endswith("/attested/document"):
            return json.dumps({"encoding": "pkcs7", "signature": self.document(*query["nonce"])})
        if parts.path.endswith("/compute/resourceId"):
            return f"{SET}/virtualMachines/0"
        assert parts.path.endswith("/identity/oauth2/token")
        assert query["resource"] == [ARM]
        assert len(query) == 2, "no identity is named: the default is the scale set's own"
        return json.dumps({"access_token": self.azure.token(), "expires_on": "4000000000"})

    def document(self, nonce: str) -> str:
        stamp = datetime.now(UTC).strftime("%m/%d/%y %H:%M:%S -0000")
        said = {"vmId": MACHINE, "subscriptionId": SUBSCRIPTION, "nonce": nonce, "timeStamp": {"createdOn": stamp}}
        return sign(self.folder, json.dumps(said).encode(), self.authorities.pair())

    def attested(self) -> Attested:
        proofs = AzureProofs(
            roots=self.folder / "root.pem", tenant=lambda name: Tenant(name, login=self.azure.login.url)
        )
        return proofs.attested(node_proofs.azure(ASKED, metadata=METADATA), QUESTION)


DER = serialization.Encoding.DER


@pytest.fixture(name="machine")
def _machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    azure = Azure(tmp_path)
    found = Machine(tmp_path, azure)
    monkeypatch.setattr(node_proofs, "ask", found.ask)
    monkeypatch.setattr(managed_identity, "ask", found.ask)
    with azure.login, found.issuers:
        yield found
    azure.store.close()


def test_a_machine_sends_along_what_its_document_lacks(machine: Machine) -> None:
    proof = node_proofs.azure(ASKED, metadata=METADATA)
    assert proof["chain"] == [pem(machine.authorities.between)]
    assert machine.attested() == Attested(site="weu", machine=MACHINE)
    assert {asked.path for asked in machine.issuers.asked} == {"/between.crt"}


@pytest.mark.parametrize("status", [404, 500])
def test_without_it_the_service_says_what_is_missing(machine: Machine, status: int) -> None:
    machine.status = status
    assert node_proofs.azure(ASKED, metadata=METADATA)["chain"] == []
    with pytest.raises(RefusedError, match="vouched for by no authority"):
        machine.attested()


def test_only_http_is_followed(tmp_path: Path) -> None:
    """Whatever the certificate contains, no file of the machine is read."""
    authorities = Authorities("file:///etc")
    signature = base64.b64decode(sign(tmp_path, b"{}", authorities.pair()))
    assert list(node_proofs._chain(signature)) == []


@pytest.mark.parametrize(
    "answer", ["no JSON but a secret", "{}", "[]", '{"signature": "secret!", "access_token": "a"}']
)
def test_metadata_that_is_none_is_told_without_it(monkeypatch: pytest.MonkeyPatch, answer: str) -> None:
    for module in (node_proofs, managed_identity):
        monkeypatch.setattr(module, "ask", lambda *_, **__: answer)
    with pytest.raises(JoinError, match="attested document and token") as told:
        node_proofs.azure(ASKED, metadata=METADATA)
    assert "secret" not in str(told.value)
