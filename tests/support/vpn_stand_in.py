"""A stand-in for VPN machines: it signs laptops' certificates, and serves a sign-in endpoint on loopback that believes
what it is told to. The real ones ask an API server who a token is."""

from __future__ import annotations

import hashlib
import json
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from components.control_plane import issuing
from components.model.secrets.certificates import sign_in_name
from contract.ports import VPN_CERTIFICATE_PATH
from longhaul.client.profile import Inside, ProfileVpn

NAME = "vpn.lab.internal"
WITHIN = Inside(range="10.96.0.0/12", dns="10.96.0.10", zones=("lab.internal", "cluster.local"))
STATIC_KEY = "\n".join(
    ("-----BEGIN OpenVPN Static key V1-----", *["0123456789abcdef" * 2] * 16, "-----END OpenVPN Static key V1-----", "")
)


class Machines:
    """The authority of the VPN, and what its machines say."""

    def __init__(self) -> None:
        self.authority = issuing.new_authority(common_name="vpn", days=1, key=issuing.new_key())
        self.server = self.certificate(NAME, usage="server")
        self.remotes: list[dict[str, Any]] = [{"address": "192.0.2.1", "port": 1194}]

    def certificate(self, name: str, *, usage: str) -> issuing.Pair:
        """Return a certificate of the authority with its key."""
        subject = issuing.Subject(common_name=name, dns_names=[name], usages=[usage], days=1)
        return issuing.issue(subject, authority=self.authority)

    def answer(self, csr: str, *, person: str, life_s: float = 3600.0) -> dict[str, Any]:
        """Return what an endpoint answers to a request of a person. The request's own name counts for nothing."""
        request = x509.load_pem_x509_csr(csr.encode())
        assert request.is_signature_valid
        issuer = x509.load_pem_x509_certificate(self.authority.certificate.encode())
        key: Any = serialization.load_pem_private_key(self.authority.key.encode(), password=None)
        now = datetime.now(UTC)
        spki = request.public_key().public_bytes(Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
        laptop = hashlib.sha256(spki).hexdigest()[:16]
        names = {NameOID.COMMON_NAME: person, NameOID.USER_ID: laptop}
        made = (
            x509.CertificateBuilder()
            .subject_name(x509.Name([x509.NameAttribute(*one) for one in names.items()]))
            .issuer_name(issuer.subject)
            .public_key(request.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(minutes=5))
            .not_valid_after(now + timedelta(hours=1))
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False)
            .add_extension(
                x509.KeyUsage(
                    digital_signature=True, content_commitment=False, key_encipherment=False, data_encipherment=False,
                    key_agreement=False, key_cert_sign=False, crl_sign=False, encipher_only=False, decipher_only=False,
                ),
                critical=True,
            )
            .sign(key, hashes.SHA256())
        )  # fmt: skip
        return {
            "certificate": made.public_bytes(Encoding.PEM).decode(),
            "authority": self.authority.certificate,
            "lasts_s": life_s,
            "tls_crypt": STATIC_KEY,
            "remotes": self.remotes,
            "cluster": {"server": "https://api.lab.internal:6443", "zones": ["lab.internal", "cluster.local"]},
        }


Reply = Callable[[str, dict[str, Any]], tuple[int, Any]]
"""Gives status and body for a token and a request's content."""


@dataclass
class Endpoint:
    """A sign-in endpoint that runs, and whose reply may be changed."""

    url: str
    reply: Reply
    asked: list[tuple[str, dict[str, Any]]] = field(default_factory=list)


@contextmanager
def endpoint(machines: Machines, folder: Path, reply: Reply) -> Iterator[Endpoint]:
    """Serve an endpoint during the block."""
    pem = folder / "endpoint.pem"
    pair = machines.certificate(sign_in_name(NAME), usage="server")
    pem.write_text(pair.certificate + pair.key)
    trust = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trust.load_cert_chain(pem)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            assert self.path == VPN_CERTIFICATE_PATH
            token = self.headers["Authorization"].removeprefix("Bearer ")
            content = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            found.asked.append((token, content))
            status, body = found.reply(token, content)
            said = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        def log_message(self, format: str, *args: object) -> None:
            return

    class Server(ThreadingHTTPServer):
        def handle_error(self, request: Any, client_address: Any) -> None:
            """Say nothing of a client that hung up."""

    with Server(("127.0.0.1", 0), Handler) as server:
        server.socket = trust.wrap_socket(server.socket, server_side=True)
        found = Endpoint(url=f"https://127.0.0.1:{server.server_address[1]}", reply=reply)
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield found
        finally:
            server.shutdown()
            thread.join()


def doors(machines: Machines, *urls: str) -> ProfileVpn:
    """Return the section of a profile."""
    return ProfileVpn(endpoints=urls, authority=machines.authority.certificate, name=NAME, inside=WITHIN)


def openvpn_server(
    program: Path,
    folder: Path,
    machines: Machines,
    *,
    under: tuple[str, ...] = (),
    port: int = 1194,
    more: tuple[str, ...] = (),
) -> subprocess.Popen[bytes]:
    """Start OpenVPN as a VPN machine has it, with few settings and ``more``; its log is ``server.log``."""
    folder.mkdir(exist_ok=True)
    files = {
        "ca": machines.authority.certificate,
        "cert": machines.server.certificate,
        "key": machines.server.key,
        "tls-crypt": STATIC_KEY,
    }
    lines = [
        *("proto udp4", f"port {port}", "dev tun9", "topology subnet", "server 10.99.0.0 255.255.255.0", "dh none"),
        # A laptop keeps its address when it comes with a new certificate for the same key, and with it its connections.
        "x509-username-field CN UID",
        *("tls-version-min 1.3", "remote-cert-tls client", "keepalive 2 6", "verb 3"),
        *more,
    ]
    for name, text in files.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o600)
        lines.append(f"{name} {folder / name}")
    (folder / "server.conf").write_text("".join(f"{line}\n" for line in lines))
    with (folder / "server.log").open("ab") as log:
        return subprocess.Popen([*under, str(program), "--config", str(folder / "server.conf")], stdout=log, stderr=log)
