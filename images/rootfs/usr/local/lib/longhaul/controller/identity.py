"""This machine's identity in Azure, and the AWS role that it assumes with it."""

from __future__ import annotations

import time
import urllib.parse
import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from managed_identity import EARLY_S, OwnIdentity
from node_metadata import METADATA, NotYetError

from controller.inventory import SourceError
from controller.web import fetch

AUDIENCE = "https://management.azure.com/"
"""Audience of the token: Azure's resource manager. AWS accepts the same token, because there is no application of our
own in the directory (components/aws/controller.py names it as the audience)."""


@dataclass(kw_only=True)
class ManagedIdentity:
    """Gives tokens of the machine's own identity."""

    metadata: str = METADATA
    wall: Callable[[], float] = time.time
    _own: OwnIdentity | None = None

    def token(self) -> str:
        """Return a token that is valid for some minutes more."""
        if self._own is None:
            self._own = OwnIdentity(audience=AUDIENCE, metadata=self.metadata, wall=self.wall)
        try:
            return self._own.token()
        except NotYetError as error:
            raise SourceError(str(error)) from None


@dataclass(frozen=True, kw_only=True)
class Credentials:
    """Temporary credentials of an AWS role."""

    key: str
    secret: str = field(repr=False)
    session: str = field(repr=False)
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
    _held: Credentials | None = None

    def credentials(self) -> Credentials:
        """Return credentials that are valid for some minutes more."""
        if self._held is None or self.wall() > self._held.until - EARLY_S:
            self._held = self._assume()
        return self._held

    def _assume(self) -> Credentials:
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
            found = {part.tag.rpartition("}")[2]: part.text or "" for part in ET.fromstring(answer).iter()}  # noqa: S314
            return Credentials(
                key=found["AccessKeyId"],
                secret=found["SecretAccessKey"],
                session=found["SessionToken"],
                until=datetime.fromisoformat(found["Expiration"].replace("Z", "+00:00")).timestamp(),
            )
        except (ET.ParseError, KeyError, ValueError) as error:
            raise SourceError(f"{what}: the answer is not one of STS: {type(error).__name__}: {error}") from None
