"""First certificate of a cloud machine, which proves its identity to the join endpoint (:mod:`join_endpoint`).

The machine makes its key, which never leaves the machine. The key is kept from one attempt to the next. A machine that
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
"""Longest wait in seconds for one answer. The join endpoint asks the cloud before it answers."""

FIRST_LOOK_S, LAST_LOOK_S, DECIDED_S = 0.2, 2.0, 60.0
"""First and longest pause in seconds between two queries of a request's state, and longest wait in seconds for the node
controller's decision. No signal shows that the node controller has decided."""


class JoinError(Exception):
    """Raised if the attempt fails. Another attempt may succeed."""


class JoinRefusedError(JoinError):
    """Raised if the join endpoint refuses, and will refuse for a while."""


class BusyError(JoinError):
    """Raised if the join endpoint is busy. An earlier request remains valid."""


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
    """Cluster, key and challenge for which a proof is made."""

    cluster: str
    fingerprint: str
    challenge: str


Prove = Callable[[ProofRequest], Mapping[str, object]]
"""Makes a proof. Raises ``JoinError`` if no proof can be made."""


class Service(http.client.HTTPSConnection):
    """A connection to the join endpoint's address, with a certificate for the endpoint's name."""

    def __init__(self, settings: JoinSettings, *, authority: Path) -> None:
        self._name = settings.name
        self._tls = ssl.create_default_context(cafile=str(authority))
        super().__init__(settings.address, settings.port, timeout=TIMEOUT_S, context=self._tls)

    def connect(self) -> None:
        """Connect, and verify the certificate against the endpoint's name instead of the address."""
        plain = socket.create_connection((self.host, self.port), self.timeout)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.sock = self._tls.wrap_socket(plain, server_hostname=self._name)

    def ask(self, method: str, path: str, body: Mapping[str, object] | None = None) -> tuple[int, dict[str, Any]]:
        """Return the status and the answer. Raise ``JoinRefusedError`` if the endpoint refuses, ``BusyError`` if it is
        busy, and ``JoinError`` after any other failure."""
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
    """Get a certificate for ``node`` and install it. Raise ``JoinError`` if that fails."""
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
    """Return the machine's key. Make a key if there is no readable key."""
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
    """Return a certificate request like the kubelet's own, PEM."""
    subject = x509.Name(
        [
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, NODES_GROUP),
            x509.NameAttribute(NameOID.COMMON_NAME, f"{NODE_USER}{node}"),
        ]
    )
    made = x509.CertificateSigningRequestBuilder().subject_name(subject).sign(key, hashes.SHA256())
    return made.public_bytes(serialization.Encoding.PEM).decode()


def usable(path: Path, *, now: datetime | None = None) -> bool:
    """Return whether the file contains a certificate that has not expired."""
    try:
        certificate = x509.load_pem_x509_certificate(path.read_bytes())
    except (OSError, ValueError):
        return False
    # Debian 12's cryptography has no ``not_valid_after_utc``.
    end = getattr(certificate, "not_valid_after_utc", None) or certificate.not_valid_after.replace(tzinfo=UTC)
    return bool((now or datetime.now(UTC)) < end)


def install(certificate: str, key: ec.EllipticCurvePrivateKey, *, paths: JoinPaths) -> None:
    """Write a file with the certificate and the key, and the kubelet's link to the file (client-go,
    ``certificate.NewFileStore``). Raise ``JoinError`` if the certificate is not the key's."""
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
    """Write the kubeconfig of kubelet and kube-proxy, as JSON, which is also YAML."""
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
    """Replace a file in one step. Only the owner can ever read it."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.new")
    beside.unlink(missing_ok=True)
    with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)
    os.replace(beside, path)
