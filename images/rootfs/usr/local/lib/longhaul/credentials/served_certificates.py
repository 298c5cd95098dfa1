"""Certificates that this machine's programs serve on their ports. A file contains the certificate that a program should
serve. Only the program's port shows which certificate it serves."""

from __future__ import annotations

import hashlib
import socket
import ssl
from collections.abc import Iterator, Mapping
from pathlib import Path

from contract.documents.node import NodeConfig
from contract.ports import ETCD_CLIENT_PORT, ETCD_PEER_PORT
from credentials.digests import digests

TIMEOUT_S = 5.0
"""Longest duration in seconds of one handshake, which is within this machine."""
UNKNOWN = ""
"""Digest for a port that serves no certificate."""


def served_certificates(node: NodeConfig, *, pki: Path) -> dict[str, tuple[str, ...]]:
    """Return the SHA-256 of the certificates (DER) that ports serve, hexadecimal, by the file from which the
    certificate should come. A port on which no program listens is left out, because the program will start with the
    file's certificate. A port that serves no certificate has :data:`UNKNOWN`."""
    certificates: dict[str, tuple[str, ...]] = {}
    for name, address in _ports(node):
        try:
            digest = _served(address, pki)
        except ConnectionRefusedError:
            continue
        except OSError:
            digest = UNKNOWN
        certificates[name] = (*certificates.get(name, ()), digest)
    return certificates


def files_not_served(served: Mapping[str, tuple[str, ...]], pki: Path) -> tuple[str, ...]:
    """Return the names of the files whose ports serve another certificate than the file contains."""
    return tuple(name for name, certificates in served.items() if {*certificates} != {_first_digest(pki / name)})


def _first_digest(path: Path) -> str:
    """Return the digest of the first certificate in a file, which is the one to serve."""
    try:
        return next(iter(digests(path.read_text())), UNKNOWN)
    except FileNotFoundError:
        return UNKNOWN


def _ports(node: NodeConfig) -> Iterator[tuple[str, tuple[str, int]]]:
    """Yield each file and the port that serves it, according to the units and their flags."""
    if node.is_member:
        yield "member.pem", (node.address, ETCD_CLIENT_PORT)
        yield "member.pem", (node.address, ETCD_PEER_PORT)
    elif node.role == "api":
        yield "apiserver.pem", ("127.0.0.1", node.port)
        yield "join.pem", ("127.0.0.1", node.join_port)
    else:
        yield "vpn-door.pem", ("127.0.0.1", node.sign_in_port)


def _served(address: tuple[str, int], pki: Path) -> str:
    """Return the digest of the certificate that a port serves. Raise ``OSError`` if the port serves none."""
    context = ssl.create_default_context()
    # Not verified: it is compared.
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    if (pki / "client.pem").exists():
        # A member logs a line for each connection without a client certificate.
        context.load_cert_chain(pki / "client.pem")
    with (
        socket.create_connection(address, timeout=TIMEOUT_S) as plain,
        context.wrap_socket(plain) as connection,
    ):
        return hashlib.sha256(connection.getpeercert(binary_form=True) or b"").hexdigest()
