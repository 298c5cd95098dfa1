"""Tokens of the identity that Longhaul has made for this machine in Azure. The machine may have other identities too.

Companies' policies add identities to machines. A request without the name of an identity then gets another identity's
token, or is refused (learn.microsoft.com, "Managed identities for Azure resources frequently asked questions": the
system-assigned identity is the default, and several user-assigned identities without a system-assigned one are an
error).
"""

from __future__ import annotations

import json
import re
import time
import urllib.parse
from collections.abc import Callable
from dataclasses import dataclass, field

from machine.metadata import AZURE_VERSION, METADATA, NotYetError, ask

ENDPOINT_VERSION = "2018-02-01"
"""API version of the token endpoint (learn.microsoft.com, "Use managed identities on a virtual machine to acquire
access token")."""

EARLY_S = 300.0
"""Remaining life in seconds below which a token or credentials are renewed."""

TIMEOUT_S = 10.0
"""Longest duration of one request in seconds. A token that the metadata service has not cached comes from the
directory."""

_OWN = {"Metadata": "true"}
_MACHINE = re.compile(r"(/subscriptions/.+)/providers/Microsoft\.Compute/virtualMachines/([^/]+)", re.IGNORECASE)


def own_identity(resource: str, *, part: str = "") -> str:
    """Return the id of the user-assigned identity of the machine with the id ``resource``. The identity is in the
    machine's resource group and has the machine's name (components/azure/machines.py). With ``part``, return the id of
    the identity for that program of the machine, whose name has the suffix ``-<part>``. Return an empty text for a
    machine of a scale set, whose identity is the system-assigned one, the default."""
    match, end = _MACHINE.fullmatch(resource.strip()), f"-{part}" if part else ""
    return (
        ""
        if match is None
        else f"{match[1]}/providers/Microsoft.ManagedIdentity/userAssignedIdentities/{match[2]}{end}"
    )


@dataclass(kw_only=True)
class OwnIdentity:
    """Source of tokens of this machine's identity for one audience."""

    audience: str
    part: str = ""
    """Program of the machine whose identity is used; empty for the machine's identity."""
    metadata: str = METADATA
    wall: Callable[[], float] = time.time
    _query: dict[str, str] | None = None
    until: float = 0.0
    """End of the last token's validity, in seconds since the epoch."""
    _token: str = field(default="", repr=False)

    def token(self) -> str:
        """Return a token that stays valid for some minutes. Raise ``NotYetError`` if the metadata service gives no
        token. The error never contains a token."""
        if self.wall() > self.until - EARLY_S:
            self._token, self.until = self._new()
        return self._token

    def _new(self) -> tuple[str, float]:
        what = "token from the metadata service"
        try:
            if self._query is None:
                self._query = self._named()
            query = urllib.parse.urlencode({"api-version": ENDPOINT_VERSION, "resource": self.audience, **self._query})
            url = f"{self.metadata}/metadata/identity/oauth2/token?{query}"
            answer = json.loads(ask(url, headers=_OWN, timeout_s=TIMEOUT_S))
            token, until = answer["access_token"], float(answer["expires_on"])
        except NotYetError as error:
            raise NotYetError(f"{what}: {error}") from None
        except (KeyError, TypeError, ValueError):
            raise NotYetError(f"{what}: the answer lacks access_token or expires_on") from None
        if not isinstance(token, str) or not token:
            raise NotYetError(f"{what}: the answer holds no access_token")
        return token, until

    def _named(self) -> dict[str, str]:
        query = urllib.parse.urlencode({"api-version": AZURE_VERSION, "format": "text"})
        resource = ask(f"{self.metadata}/metadata/instance/compute/resourceId?{query}", headers=_OWN)
        identity = own_identity(resource, part=self.part)
        return {"msi_res_id": identity} if identity else {}
