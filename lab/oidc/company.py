"""The users' company in the lab: its identity provider at ``login.corp.example``, and its people.

An environment has the company if it declares the issuer :data:`URL` with the company's authority. The authority's key
is in the checkout, because it protects nothing outside a lab: its certificate is valid only for names of the company,
and only environments in a lab trust it. People are made up: whoever gives the name of a person is that person.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import shutil
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from components.model import Environment
from lab.cloud.pki import Pki, issue_server
from lab.hypervisor.addresses import COMPANY, COMPANY_NAME
from lab.hypervisor.networks import COMPANY as PLACE
from lab.oidc.provider import SERVER
from lab.oidc.settings import LIFE_S, write_settings
from lab.state import LabState, write_atomically

_LOG = logging.getLogger("lab.company")

NAME, PORT = f"login.{COMPANY_NAME}", 8443
"""Host and port of the provider. Not HTTPS's own port, which API servers may use for clouds: so a lab shows that their
way out is the one which the issuer is declared to need."""
URL = f"https://{NAME}:{PORT}"
CLIENT = "longhaul"
AUTHORITY = Path(__file__).with_name("authority.pem")
"""Certificate of the company's authority, as environments in the lab have it (``certificate_authority``)."""
PEOPLE = {
    "ada": {"email": "ada@corp.example", "email_verified": True, "groups": ["visual"]},
    "ben": {"email": "ben@corp.example", "email_verified": True, "groups": ["speech"]},
}
"""People by their names, with their claims."""
_AUTHORITY_KEY = Path(__file__).with_name("authority-key.pem")
_RESTART_S = 2.0


def has_company(environment: Environment) -> bool:
    """Return whether people of the lab's company sign in to an environment."""
    authority = AUTHORITY.read_text(encoding="ascii")
    return any(
        issuer.url == URL and (issuer.certificate_authority or "").strip() == authority.strip()
        for issuer in environment.identity.issuers.values()
    )


class CompanyKeeper:
    """Keeps the identity provider running, in the company's network. ``modules``: the folder with its packages."""

    def __init__(self, state: LabState, modules: Path) -> None:
        self._state = state
        self._modules = modules
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start the provider, and start it again whenever it ends."""
        self._task = asyncio.create_task(self._keep(), name="the company's identity provider")

    async def close(self) -> None:
        """End the provider."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def _keep(self) -> None:
        settings = _write(self._state.directory / "company")
        node = shutil.which("node") or "node"
        argv = PLACE.inside([node, str(SERVER), str(self._modules), str(settings)])
        while True:
            with (self._state.logs / f"{self._state.env}-company.log").open("ab") as log:
                process = await asyncio.create_subprocess_exec(
                    *argv, stdin=asyncio.subprocess.DEVNULL, stdout=log, stderr=log
                )
            try:
                code = await process.wait()
            except asyncio.CancelledError:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
                await process.wait()
                raise
            _LOG.warning("the company's identity provider ended with code %s: starting it again", code)
            await asyncio.sleep(_RESTART_S)


def _write(folder: Path) -> Path:
    """Write the provider's settings and certificate; tokens' key stays the same as long as the lab exists."""
    folder.mkdir(mode=0o700, exist_ok=True)
    pki = Pki(ca_certificate=AUTHORITY, server_certificate=folder / "server.pem", server_key=folder / "server-key.pem")
    issue_server(pki, _AUTHORITY_KEY, (NAME,))
    path = folder / "settings.json"
    write_settings(
        path,
        url=URL,
        listen=(str(COMPANY), PORT),
        certificate=pki.server_certificate,
        key=pki.server_key,
        signing_key=_signing_key(folder / "tokens-key.pem"),
        clients={CLIENT: LIFE_S},
        people=PEOPLE,
    )
    return path


def _signing_key(path: Path) -> rsa.RSAPrivateKey:
    if not path.exists():
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
        write_atomically(path, key.private_bytes(encoding, form, serialization.NoEncryption()))
    known = serialization.load_pem_private_key(path.read_bytes(), password=None)
    if not isinstance(known, rsa.RSAPrivateKey):
        raise ValueError(f"{path} is no RSA key; remove it and start the lab again")
    return known
