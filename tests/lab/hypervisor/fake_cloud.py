"""A cloud whose wanted world is a pickle: a test writes it, and the hypervisor follows it."""

from __future__ import annotations

import asyncio
import logging
import os
import pickle
import ssl
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from lab.cloud.delays import Delays
from lab.desired import Hypervisor, World

NAME = "management.azure.com"


def write_world(cloud: Path, world: World) -> None:
    temporary = cloud / "world.new"
    temporary.write_bytes(pickle.dumps(world))
    temporary.replace(cloud / "world")


class FakeCloud:
    """Serves the caller's address, so that a test sees whether it was translated."""

    def __init__(
        self,
        *,
        state_dir: Path,
        hypervisor: Hypervisor,
        images: Mapping[str, str],
        regions: Sequence[str],
        delays: Delays,
        request_limits: bool,
    ) -> None:
        state_dir.mkdir(exist_ok=True)
        self._state = state_dir
        self._hypervisor = hypervisor
        self.regions = regions
        self.ca_certificate = state_dir / "ca.pem"
        self._key = state_dir / "key.pem"
        if not self.ca_certificate.exists():
            self._make_certificate()

    def internet_app(self) -> web.Application:
        return self._echo("internet")

    def site_app(self, network_id: str) -> web.Application:
        return self._echo(f"site {network_id}")

    def metadata_app(self, network_id: str) -> web.Application:
        app = self._echo(f"metadata {network_id}")
        app.router.add_post("/run", self._run)
        return app

    def ssl_context(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.ca_certificate, self._key)
        return context

    def warn_spot(self, instance_id: str, notice: str) -> None:
        raise LookupError(f"there is no spot instance {instance_id}")

    def limit_machines(self, kind: str, zone: str, count: int | None, error: str) -> None:
        raise ValueError(f"there is no {error}")

    def operator_environment(self) -> dict[str, str]:
        return {"SSL_CERT_FILE": str(self.ca_certificate), "ODD": 'it\'s $HOME "quoted"'}

    async def run(self) -> None:
        seen: tuple[int, int] | None = None
        while True:
            path = self._state / "world"
            if path.exists():
                found = path.stat()
                if (found.st_ino, found.st_mtime_ns) != seen:
                    seen = (found.st_ino, found.st_mtime_ns)
                    await self._hypervisor.apply(pickle.loads(path.read_bytes()))
                    (self._state / "applied").write_text(str(found.st_ino))
            await asyncio.sleep(0.05)

    async def close(self) -> None:
        logging.info("closed in process %s", os.getpid())

    def _echo(self, where: str) -> web.Application:
        async def answer(request: web.Request) -> web.Response:
            return web.Response(text=f"{where}: {request.remote}\n")

        app = web.Application()
        app.router.add_get("/", answer)
        return app

    async def _run(self, request: web.Request) -> web.Response:
        """Let tests call ``run`` of the hypervisor."""
        body = await request.json()
        result = await self._hypervisor.run(body["id"], body["script"], timeout_s=body["timeout_s"])
        return web.json_response({"code": result.exit_code, "out": result.stdout, "err": result.stderr})

    def _make_certificate(self) -> None:
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "lab test")])
        now = datetime.now(UTC)
        certificate = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(name)
            .public_key(key.public_key())
            .serial_number(1)
            .not_valid_before(now - timedelta(hours=1))
            .not_valid_after(now + timedelta(days=1))
            .add_extension(x509.SubjectAlternativeName([x509.DNSName(NAME)]), critical=False)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .sign(key, hashes.SHA256())
        )
        self._key.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )
        self.ca_certificate.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
