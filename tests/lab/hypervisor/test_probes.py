"""HTTPS probes take the certificates that the program issues, and speak TLS 1.2 at most, as Azure's."""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path

import pytest

from components.control_plane import issuing
from lab.hypervisor.balancer import probe_context


@pytest.fixture(name="pair")
def _pair(tmp_path: Path) -> Path:
    """A file with a certificate that the program would issue, and its key."""
    authority = issuing.new_authority(common_name="kubernetes", days=1, key=issuing.new_key())
    subject = issuing.Subject(
        common_name="api", organizations=[], dns_names=["api"], addresses=[], usages=["server"], days=1
    )
    issued = issuing.issue(subject, authority=authority)
    path = tmp_path / "pair.pem"
    path.write_text(issued.certificate + issued.key)
    return path


@pytest.mark.parametrize(("least", "works"), [(ssl.TLSVersion.TLSv1_2, True), (ssl.TLSVersion.TLSv1_3, False)])
def test_a_probe_connects(pair: Path, least: ssl.TLSVersion, works: bool) -> None:
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(pair)
    server.minimum_version = least
    assert asyncio.run(_connects(server)) is works


async def _connects(context: ssl.SSLContext) -> bool:
    def serve(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    async with listening:
        port = listening.sockets[0].getsockname()[1]
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=probe_context(), server_hostname="api")
        except (ssl.SSLError, ConnectionError):
            return False
        writer.close()
        return True
