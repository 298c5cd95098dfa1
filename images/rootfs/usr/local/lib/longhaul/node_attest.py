"""A cloud machine gets its first certificate: it proves to the join service what it is (package ``attest``).

Its key is born here and stays here, and is kept from one attempt to the next: who asks again with the same key is given
what was granted before.
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

from attest.protocol import CHALLENGE, JOIN
from controller.request import NODE, NODES, fingerprint
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from node_place import write

TIMEOUT_S = 15.0
"""For one answer: the service asks the cloud before it gives one."""

FIRST_LOOK_S, LAST_LOOK_S, DECIDED_S = 0.2, 2.0, 60.0
"""Between looks at what became of a request, at first and after a while, and how long it is looked at before all begins
anew: nothing tells from outside when the node controller has decided."""


class JoinError(Exception):
    """It did not work; asking again may help."""


class RefusedError(JoinError):
    """The service said no, and will say so for a while."""


class BusyError(JoinError):
    """The service has too much to do; what was asked before stands."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Where to ask: node.json's ``join``."""

    address: str
    port: int
    name: str
    """Whom the service's certificate is of."""
    cluster: str
    """The environment: for whom the proof is."""


@dataclass(frozen=True, kw_only=True)
class Paths:
    """Where things are on the machine."""

    key: Path = Path("/var/lib/kubelet/pki/longhaul-join.key")
    folder: Path = Path("/var/lib/kubelet/pki")
    kubeconfig: Path = Path("/var/lib/kubelet/kubeconfig")
    authority: Path = Path("/etc/longhaul/pki/kubernetes-ca.crt")

    @property
    def current(self) -> Path:
        """The kubelet's link to its newest certificate and key."""
        return self.folder / "kubelet-client-current.pem"


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What a proof is made for."""

    cluster: str
    fingerprint: str
    challenge: str


Prove = Callable[[Asked], Mapping[str, object]]
"""Makes a proof, and raises ``JoinError`` when it cannot."""


class Service(http.client.HTTPSConnection):
    """One connection to the service, which is known by its name and reached by an address."""

    def __init__(self, settings: Settings, *, authority: Path) -> None:
        self._name = settings.name
        self._tls = ssl.create_default_context(cafile=str(authority))
        super().__init__(settings.address, settings.port, timeout=TIMEOUT_S, context=self._tls)

    def connect(self) -> None:
        """As HTTPSConnection's, under another name."""
        plain = socket.create_connection((self.host, self.port), self.timeout)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.sock = self._tls.wrap_socket(plain, server_hostname=self._name)

    def ask(self, method: str, path: str, body: Mapping[str, object] | None = None) -> tuple[int, dict[str, Any]]:
        """The answer; ``RefusedError`` when it is no, ``BusyError`` when it is later, ``JoinError`` when it is none."""
        content = None if body is None else json.dumps(body).encode()
        try:
            self.request(method, path, body=content, headers={"Content-Type": "application/json"} if content else {})
            response = self.getresponse()
            found = json.loads(response.read())
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise JoinError(f"the join service at {self.host}:{self.port}: {type(error).__name__}: {error}") from None
        if response.status in (200, 202):
            return response.status, dict(found)
        text = f"the join service says {found.get('reason')}: {found.get('message')}"
        raise {403: RefusedError, 429: BusyError}.get(response.status, JoinError)(text)


def join(node: str, settings: Settings, prove: Prove, *, paths: Paths) -> None:
    """Get a certificate for ``node`` and install it; ``JoinError`` otherwise."""
    key = load_key(paths.key)
    service = Service(settings, authority=paths.authority)
    try:
        print_ = fingerprint(key.public_key())
        _, given = service.ask("GET", CHALLENGE + print_)
        challenge = str(given.get("challenge"))
        proof = prove(Asked(cluster=settings.cluster, fingerprint=print_, challenge=challenge))
        service.ask("POST", JOIN, {"request": request(node, key), "challenge": challenge, "proof": dict(proof)})
        install(_granted(service, print_), key, paths=paths)
        paths.key.unlink()
    finally:
        service.close()


def _granted(service: Service, print_: str) -> str:
    deadline, pause = time.monotonic() + DECIDED_S, FIRST_LOOK_S
    while time.monotonic() < deadline:
        # A service that is busy has the request all the same: to begin anew would be more work for it.
        with suppress(BusyError):
            status, found = service.ask("GET", f"{JOIN}/{print_}")
            if status == 200:
                return str(found["certificate"])
        time.sleep(random.uniform(0.5, 1.5) * pause)  # noqa: S311  (no secret)
        pause = min(pause * 1.5, LAST_LOOK_S)
    raise JoinError(f"the request is not decided on after {DECIDED_S:.0f} s: see the requests' events")


def load_key(path: Path) -> ec.EllipticCurvePrivateKey:
    """The machine's key, made when there is none that can be read."""
    try:
        found = serialization.load_pem_private_key(path.read_bytes(), password=None)
        if isinstance(found, ec.EllipticCurvePrivateKey):
            return found
    except (OSError, ValueError):
        pass
    made = ec.generate_private_key(ec.SECP256R1())
    _write_secret(path, _pem(made))
    return made


def request(node: str, key: ec.EllipticCurvePrivateKey) -> str:
    """What the kubelet itself would ask for, PEM."""
    subject = x509.Name(
        [
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, NODES),
            x509.NameAttribute(NameOID.COMMON_NAME, f"{NODE}{node}"),
        ]
    )
    made = x509.CertificateSigningRequestBuilder().subject_name(subject).sign(key, hashes.SHA256())
    return made.public_bytes(serialization.Encoding.PEM).decode()


def usable(path: Path, *, now: datetime | None = None) -> bool:
    """Whether there is a certificate that has not ended."""
    try:
        certificate = x509.load_pem_x509_certificate(path.read_bytes())
    except (OSError, ValueError):
        return False
    # Debian 12's cryptography has no ``not_valid_after_utc``.
    end = getattr(certificate, "not_valid_after_utc", None) or certificate.not_valid_after.replace(tzinfo=UTC)
    return bool((now or datetime.now(UTC)) < end)


def install(certificate: str, key: ec.EllipticCurvePrivateKey, *, paths: Paths) -> None:
    """Where the kubelet looks for it: a file with certificate and key, and a link to it (client-go,
    ``certificate.NewFileStore``)."""
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


def write_kubeconfig(api: str, *, paths: Paths) -> None:
    """What the kubelet and kube-proxy reach the API with: JSON, which is YAML too."""
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
    write(paths.kubeconfig, json.dumps(value) + "\n")


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    form = serialization.PrivateFormat.TraditionalOpenSSL
    return key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())


def _write_secret(path: Path, content: bytes) -> None:
    """Readable by its owner alone from the first byte on, and whole or not at all."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.new")
    beside.unlink(missing_ok=True)
    with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)
    os.replace(beside, path)
