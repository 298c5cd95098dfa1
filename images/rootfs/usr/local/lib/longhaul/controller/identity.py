"""This machine's identity in Azure, and the AWS role that it assumes with it."""

from __future__ import annotations

import json
import socket
import threading
import time
import urllib.parse
import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from join_endpoint.web import SourceError, fetch
from machine.managed_identity import EARLY_S
from machine.sigv4 import Credentials

SOCKET = "/run/longhaul-cloud-token.sock"
"""Socket that gives one token a connection (machine/cloud_token.py)."""

TIMEOUT_S = 30.0
"""Time limit in seconds: a program starts for the answer, and asks the metadata service twice, for ten seconds each at
most."""


def given() -> str:
    """Return what the socket gives; ``OSError`` when it gives nothing."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(TIMEOUT_S)
        connection.connect(SOCKET)
        with connection.makefile(encoding="utf-8") as stream:
            return stream.read()


@dataclass(kw_only=True)
class ManagedIdentity:
    """Gives tokens of the machine's own identity."""

    ask: Callable[[], str] = given
    wall: Callable[[], float] = time.time
    _token: str = field(default="", repr=False)
    _until: float = 0.0
    _asking: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def token(self) -> str:
        """Return a token that is valid for some minutes more. Sites that ask at once wait for one answer."""
        with self._asking:
            if self.wall() > self._until - EARLY_S:
                self._token, self._until = self._new()
            return self._token

    def _new(self) -> tuple[str, float]:
        try:
            answer = json.loads(self.ask())
            if "error" in answer:
                raise SourceError(str(answer["error"]))
            return str(answer["token"]), float(answer["until"])
        except OSError as error:
            raise SourceError(f"{SOCKET}: {error}") from None
        except (KeyError, TypeError, ValueError):
            raise SourceError(f"{SOCKET}: it gives no token; its journal says why") from None


@dataclass(frozen=True, kw_only=True)
class PassingCredentials(Credentials):
    """The same, and how long they last."""

    until: float


@dataclass(kw_only=True)
class AssumedRole:
    """AWS role that is assumed with the machine's token: no AWS key is stored anywhere."""

    role: str
    region: str
    session_name: str
    identity: ManagedIdentity
    endpoint: str = ""
    """STS address to use instead of the region's own, for tests."""
    wall: Callable[[], float] = time.time
    _held: PassingCredentials | None = None

    def credentials(self) -> PassingCredentials:
        """Return credentials that are valid for some minutes more."""
        if self._held is None or self.wall() > self._held.until - EARLY_S:
            self._held = self._assume()
        return self._held

    def _assume(self) -> PassingCredentials:
        body = {
            "Action": "AssumeRoleWithWebIdentity",
            "Version": "2011-06-15",
            "RoleArn": self.role,
            "RoleSessionName": self.session_name[:64],
            "WebIdentityToken": self.identity.token(),
        }
        what = f"taking the role {self.role}"
        url = self.endpoint or f"https://sts.{self.region}.amazonaws.com/"
        answer = fetch(
            url,
            what=what,
            method="POST",
            headers={"Content-Type": "application/x-www-form-urlencoded"},
            body=urllib.parse.urlencode(body).encode(),
        )
        try:
            fields = {part.tag.rpartition("}")[2]: part.text or "" for part in ET.fromstring(answer).iter()}  # noqa: S314
            return PassingCredentials(
                key=fields["AccessKeyId"],
                secret=fields["SecretAccessKey"],
                session=fields["SessionToken"],
                until=datetime.fromisoformat(fields["Expiration"].replace("Z", "+00:00")).timestamp(),
            )
        except (ET.ParseError, KeyError, ValueError) as error:
            raise SourceError(f"{what}: the answer is not one of STS: {type(error).__name__}: {error}") from None
