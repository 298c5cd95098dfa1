"""First certificate of a cloud machine: it proves its identity to the join endpoint (package ``attest``).

The machine's key is made here and never leaves it. The key is kept from one attempt to the next: a machine that
requests again with the same key gets the certificate that was granted before.
"""

from __future__ import annotations

import http.client
import json
import os
import random
import socket
import ssl
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from join_endpoint.protocol import CHALLENGE, JOIN

from contract.certificate_requests import fingerprint
from contract.documents.node import JoinSettings
from contract.paths import KUBELET_KUBECONFIG, KUBERNETES_AUTHORITIES, PKI
from contract.users import NODE_USER, NODES_GROUP
from node.place import write

TIMEOUT_S = 15.0
"""Timeout in seconds for one answer: the join endpoint asks the cloud before it answers."""

FIRST_LOOK_S, LAST_LOOK_S, DECIDED_S = 0.2, 2.0, 60.0
"""Seconds between looks at a request's state, at first and after a while, and seconds after which the attempt is given
up: nothing outside signals that the node controller has decided."""


class JoinError(Exception):
    """Raised when the attempt failed; another attempt may succeed."""


class JoinRefusedError(JoinError):
    """Raised when the join endpoint refused, and will refuse for a while."""


class BusyError(JoinError):
    """Raised when the join endpoint is busy; an earlier request remains valid."""


@dataclass(frozen=True, kw_only=True)
class JoinPaths:
    """Files and folders on the machine."""

    key: Path = Path("/var/lib/kubelet/pki/longhaul-join.key")
    folder: Path = Path("/var/lib/kubelet/pki")
    kubeconfig: Path = Path(KUBELET_KUBECONFIG)
    authority: Path = Path(PKI, KUBERNETES_AUTHORITIES)

    @property
    def current(self) -> Path:
        """Path of the kubelet's link to its newest certificate and key."""
        return self.folder / "kubelet-client-current.pem"


@dataclass(frozen=True, kw_only=True)
class ProofRequest:
    """Cluster, key and challenge that a proof is made for."""

    cluster: str
    fingerprint: str
    challenge: str


Prove = Callable[[ProofRequest], Mapping[str, object]]
"""Makes a proof; raises ``JoinError`` when it cannot."""


class Service(http.client.HTTPSConnection):
    """One connection to the join endpoint: made to an address, verified by the endpoint's name."""

    def __init__(self, settings: JoinSettings, *, authority: Path) -> None:
        self._name = settings.name
        self._tls = ssl.create_default_context(cafile=str(authority))
        super().__init__(settings.address, settings.port, timeout=TIMEOUT_S, context=self._tls)

    def connect(self) -> None:
        """Connect as HTTPSConnection does, but verify the certificate against the endpoint's name."""
        plain = socket.create_connection((self.host, self.port), self.timeout)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.sock = self._tls.wrap_socket(plain, server_hostname=self._name)

    def ask(self, method: str, path: str, body: Mapping[str, object] | None = None) -> tuple[int, dict[str, Any]]:
        """Return the answer. Raise ``JoinRefusedError`` when it is a refusal, ``BusyError`` when the endpoint is busy,
        ``JoinError`` otherwise."""
        content = None if body is None else json.dumps(body).encode()
        try:
            self.request(method, path, body=content, headers={"Content-Type": "application/json"} if content else {})
            response = self.getresponse()
            answer = json.loads(response.read())
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise JoinError(f"the join service at {self.host}:{self.port}: {type(error).__name__}: {error}") from None
        if response.status in (200, 202):
            return response.status, dict(answer)
        text = f"the join service says {answer.get('reason')}: {answer.get('message')}"
        raise {403: JoinRefusedError, 429: BusyError}.get(response.status, JoinError)(text)


def join(node: str, settings: JoinSettings, prove: Prove, *, paths: JoinPaths) -> None:
    """Get a certificate for ``node`` and install it; raise ``JoinError`` when this fails."""
    key = load_key(paths.key)
    service = Service(settings, authority=paths.authority)
    try:
        print_ = fingerprint(key.public_key())
        _, given = service.ask("GET", CHALLENGE + print_)
        challenge = str(given.get("challenge"))
        proof = prove(ProofRequest(cluster=settings.cluster, fingerprint=print_, challenge=challenge))
        service.ask("POST", JOIN, {"request": request(node, key), "challenge": challenge, "proof": dict(proof)})
        install(_granted(service, print_), key, paths=paths)
        paths.key.unlink()
    finally:
        service.close()


def _granted(service: Service, print_: str) -> str:
    deadline, pause = time.monotonic() + DECIDED_S, FIRST_LOOK_S
    while time.monotonic() < deadline:
        # A busy endpoint still has the request; a new attempt would be more work for it.
        with suppress(BusyError):
            status, answer = service.ask("GET", f"{JOIN}/{print_}")
            if status == 200:
                return str(answer["certificate"])
        time.sleep(random.uniform(0.5, 1.5) * pause)  # noqa: S311  (no secret)
        pause = min(pause * 1.5, LAST_LOOK_S)
    raise JoinError(f"the join request was neither approved nor denied within {DECIDED_S:.0f} s: see its events")


def load_key(path: Path) -> ec.EllipticCurvePrivateKey:
    """Return the machine's key. Make one when there is no readable one."""
    try:
        key = serialization.load_pem_private_key(path.read_bytes(), password=None)
        if isinstance(key, ec.EllipticCurvePrivateKey):
            return key
    except (OSError, ValueError):
        pass
    made = ec.generate_private_key(ec.SECP256R1())
    _write_secret(path, _pem(made))
    return made


def request(node: str, key: ec.EllipticCurvePrivateKey) -> str:
    """Return the certificate request that the kubelet itself would make, PEM."""
    subject = x509.Name(
        [
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, NODES_GROUP),
            x509.NameAttribute(NameOID.COMMON_NAME, f"{NODE_USER}{node}"),
        ]
    )
    made = x509.CertificateSigningRequestBuilder().subject_name(subject).sign(key, hashes.SHA256())
    return made.public_bytes(serialization.Encoding.PEM).decode()


def usable(path: Path, *, now: datetime | None = None) -> bool:
    """Return whether there is a certificate that has not expired."""
    try:
        certificate = x509.load_pem_x509_certificate(path.read_bytes())
    except (OSError, ValueError):
        return False
    # Debian 12's cryptography has no ``not_valid_after_utc``.
    end = getattr(certificate, "not_valid_after_utc", None) or certificate.not_valid_after.replace(tzinfo=UTC)
    return bool((now or datetime.now(UTC)) < end)


def install(certificate: str, key: ec.EllipticCurvePrivateKey, *, paths: JoinPaths) -> None:
    """Write the certificate to where the kubelet looks for it: a file with certificate and key, and a link to it
    (client-go, ``certificate.NewFileStore``)."""
    try:
        given = x509.load_pem_x509_certificate(certificate.encode())
    except ValueError as error:
        raise JoinError(f"what the join service gave is no certificate: {error}") from None
    if given.public_key().public_bytes(*_PUBLIC) != key.public_key().public_bytes(*_PUBLIC):
        raise JoinError("what the join service gave is somebody else's certificate")
    stamp = datetime.now(UTC).strftime("%Y-%m-%d-%H-%M-%S")
    target = paths.folder / f"kubelet-client-{stamp}.pem"
    _write_secret(target, certificate.encode() + _pem(key))
    beside = paths.folder / ".kubelet-client-current.new"
    beside.unlink(missing_ok=True)
    beside.symlink_to(target)
    os.replace(beside, paths.current)


_PUBLIC = (serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)


def write_kubeconfig(api: str, *, paths: JoinPaths) -> None:
    """Write the kubeconfig of kubelet and kube-proxy: JSON, which is YAML too."""
    cluster = {"server": api, "certificate-authority": str(paths.authority)}
    user = {"client-certificate": str(paths.current), "client-key": str(paths.current)}
    value = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "default", "cluster": cluster}],
        "users": [{"name": "node", "user": user}],
        "contexts": [{"name": "default", "context": {"cluster": "default", "user": "node"}}],
        "current-context": "default",
    }
    write(paths.kubeconfig, json.dumps(value) + "\n", mode=0o600)


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    form = serialization.PrivateFormat.TraditionalOpenSSL
    return key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())


def _write_secret(path: Path, content: bytes) -> None:
    """Write a file whole or not at all, readable only by its owner from the first byte on."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.new")
    beside.unlink(missing_ok=True)
    with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)
    os.replace(beside, path)
