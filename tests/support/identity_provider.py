"""The lab's identity provider, on loopback or at the lab's company: the real program, a browser without a person, and
tokens with any claims."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import jwt
import requests
from cryptography.hazmat.primitives.asymmetric import rsa

from components.control_plane import issuing
from components.model.identity.section import Issuer
from lab.hypervisor.addresses import COMPANY, COMPANY_NAME
from lab.oidc.person import browser, fill_in
from lab.oidc.provider import SERVER, ensure
from lab.oidc.settings import KEY_ID, LIFE_S, write_settings
from longhaul.client import profile
from tests.support.api_server import eventually
from tests.support.ports import free_ports

CLIENT = "longhaul"
OTHER_CLIENT = "wiki"
"""Another application of the same company."""
BRIEF_CLIENT = "brief"
"""Client whose tokens are over at once: the EARLY_S of a program that has one have begun."""
LOOPBACK = "127.0.0.1"
AT_COMPANY = f"https://login.{COMPANY_NAME}:9443"
"""URL of the provider on the lab's internet. Not HTTPS's own port, which API servers may use for clouds, nor the lab's
own company's: so a test sees that their way out is the one which the issuer is declared to need."""
PEOPLE = {
    "alice": {"email": "alice@example.com", "email_verified": True, "groups": ["ml", "everyone"], "oid": "a-1"},
    "bob": {"email": "bob@example.com", "email_verified": True, "groups": ["ops"], "oid": "b-2"},
    "mallory": {"groups": ["system:masters", "longhaul:admins"], "oid": "m-3"},
    "nobody": {"groups": []},
}
"""Made-up people, of two teams; the last two have claims that they should not have, or lack one."""


class IdentityProvider:
    """A provider in ``folder`` that runs from :meth:`start` on."""

    def __init__(self, folder: Path, *, company: Path | None = None) -> None:
        """``company``: the lab's program ``enter-company``; without one the provider is on loopback."""
        self.folder = folder
        self._under = [] if company is None else [str(company)]
        self._address = LOOPBACK if company is None else str(COMPANY)
        self.url = f"https://{LOOPBACK}:{free_ports(1)[0]}" if company is None else AT_COMPANY
        self._authority = issuing.new_authority(common_name="corp", days=1, key=issuing.new_key())
        self._key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self._people: dict[str, Any] = json.loads(json.dumps(PEOPLE))
        self._process: subprocess.Popen[bytes] | None = None
        self.authority_file = folder / "ca.pem"
        folder.mkdir(parents=True, exist_ok=True)
        self.authority_file.write_text(self.authority)
        self._write()

    @property
    def authority(self) -> str:
        """Authority of its server's certificate, PEM."""
        return self._authority.certificate

    def start(self) -> None:
        """Start it; return when it answers."""
        modules = ensure(log_dir=self.folder, progress=print)
        words = [*self._under, "node", str(SERVER), str(modules), str(self.folder / "settings.json")]
        with (self.folder / "provider.log").open("ab") as log:
            self._process = subprocess.Popen(words, stdout=log, stderr=log)
        eventually(self._answers, what="the identity provider answers")

    def stop(self) -> None:
        """End it."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def leave(self, name: str) -> None:
        """Have a person leave the company."""
        del self._people[name]
        self._write()

    def issuer(self, name: str = "corp", **more: Any) -> Issuer:
        """Return the section of the environment's file."""
        names = {
            part: {"claim": part_, "prefix": f"{name}:"} for part, part_ in (("username", "oid"), ("groups", "groups"))
        }
        raw = {"url": self.url, "audiences": [CLIENT, BRIEF_CLIENT], **names, "certificate_authority": self.authority}
        return Issuer.model_validate({**raw, **more})

    def profile_issuer(self, client: str = CLIENT, **more: Any) -> profile.ProfileIssuer:
        """Return the issuer as a profile has it."""
        raw = {"client_id": client, "scopes": ("openid", "offline_access"), "certificate_authority": self.authority}
        return profile.ProfileIssuer(**{"url": self.url, **raw, **more})

    def token(self, *, by: IdentityProvider | None = None, **claims: Any) -> str:
        """Return a token with these claims beside the usual ones (None leaves one out), signed with this provider's key
        or that of another."""
        now = int(time.time())
        usual = {"iss": self.url, "aud": CLIENT, "sub": "alice", "iat": now, "exp": now + LIFE_S, **PEOPLE["alice"]}
        said = {key: value for key, value in {**usual, **claims}.items() if value is not None}
        return jwt.encode(said, (by or self)._key, algorithm="RS256", headers={"kid": KEY_ID})

    def browser(self) -> requests.Session:
        """Return a browser that trusts the company."""
        return browser(self.authority_file)

    def sign_in(self, url: str, name: str) -> str:
        """Do what a person does in a browser: follow the page, give a name, agree, and go where it leads. Return the
        last page."""
        session = self.browser()
        return fill_in(session, session.get(url, timeout=60), name)

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, (self.folder / "provider.log").read_text()
        found = f"{self.url}/.well-known/openid-configuration"
        asked = ["curl", "--silent", "--fail", "--max-time", "10", "--cacert", str(self.authority_file), found]
        return subprocess.run([*self._under, *asked], stdout=subprocess.DEVNULL, check=False).returncode == 0

    def _write(self) -> None:
        host, port = urlsplit(self.url).hostname or "", urlsplit(self.url).port
        named = {"addresses": [host]} if host == LOOPBACK else {"dns_names": [host]}
        subject = issuing.Subject(common_name="corp", usages=["server"], days=1, **named)
        pem = self.folder / "server.pem"
        if not pem.exists():
            pair = issuing.issue(subject, authority=self._authority)
            pem.write_text(pair.certificate + pair.key)
        write_settings(
            self.folder / "settings.json",
            url=self.url,
            listen=(self._address, port or 443),
            certificate=pem,
            key=pem,
            signing_key=self._key,
            clients={CLIENT: LIFE_S, OTHER_CLIENT: LIFE_S, BRIEF_CLIENT: 1},
            people=self._people,
        )


@contextmanager
def identity_provider(folder: Path, *, company: Path | None = None) -> Iterator[IdentityProvider]:
    """Run a provider; it answers when the block begins."""
    found = IdentityProvider(folder, company=company)
    try:
        found.start()
        yield found
    finally:
        found.stop()
