"""Client of the sign-in endpoint on VPN machines: sends a person's token and a certificate request, gets a
certificate."""

from __future__ import annotations

import json
import socket
import ssl
from http.client import HTTPException, HTTPSConnection
from typing import Any
from urllib.parse import urlsplit

from contract.ports import VPN_CERTIFICATE_PATH
from contract.vpn import MOST_TOKEN
from longhaul.client.profile import ProfileVpn
from longhaul.client.vpn.admission import Admission, parse
from longhaul.terminal.exits import CommandError, Exit

CONNECT_S, ANSWER_S = 5.0, 30.0
"""Time limits for a connection and for its answer, seconds. After that the next endpoint is tried."""
LARGEST = 262_144
"""Largest answer in bytes."""


class NotAdmittedError(CommandError):
    """The endpoint knows the person and denies access."""


def admission(vpn: ProfileVpn, *, token: str, request: str) -> Admission:
    """Return the admission from the first endpoint that answers. Raise ``NotAdmittedError`` or ``CommandError`` when an
    endpoint refuses, since the other endpoints would refuse too. Raise ``CommandError`` with ``UNREACHABLE`` when no
    endpoint gives a valid answer."""
    if len(token) > MOST_TOKEN:
        raise CommandError(
            f"your token has {len(token) // 1024} KiB, and VPN machines take {MOST_TOKEN // 1024}: your company puts "
            "too many groups into it. Ask for only the groups that the environment knows (docs/sign-in.md)"
        )
    reasons = []
    for url in vpn.endpoints:
        try:
            status, answer = _post(url, vpn, token=token, request=request)
            if status == 200:
                return parse(answer, name=vpn.name, inside=vpn.inside)
        except (OSError, HTTPException) as error:
            reasons.append(f"{url}: {str(error) or type(error).__name__}")
            continue
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            reasons.append(f"{url}: its answer is not a VPN machine's")
            continue
        why = str(answer.get("error", ""))[:300]
        _raise_refusal(url, status, why)
        reasons.append(f"{url}: HTTP status {status}{': ' if why else ''}{why}")
    raise CommandError(
        f"no VPN machine gives a certificate ({'; '.join(reasons)}): is this machine on the internet? If it is, tell "
        "the environment's operator, who sees more with `longhaul status`",
        code=Exit.UNREACHABLE,
    )


def _raise_refusal(url: str, status: int, why: str) -> None:
    """Raise an error for a refusal that every endpoint would repeat."""
    if status == 401:
        raise CommandError(
            f"{url} refuses the token{': ' if why else ''}{why}. Run `longhaul login` with a new profile "
            "(`longhaul access profile`); if that does not help, the environment's operator finds the reason in an "
            "API server's log"
        )
    if status == 403:
        raise NotAdmittedError(
            f"{url} does not let you in{': ' if why else ''}{why}. Ask the environment's operator: none of your "
            "groups may use the VPN, or your access was revoked"
        )
    if status in (400, 413):
        raise CommandError(f"{url} does not take the request{': ' if why else ''}{why}: is there a newer client?")


def _post(url: str, vpn: ProfileVpn, *, token: str, request: str) -> tuple[int, dict[str, Any]]:
    connection = _EndpointConnection(url, vpn)
    try:
        body = json.dumps({"csr": request})
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        connection.request("POST", VPN_CERTIFICATE_PATH, body, headers)
        answer = connection.getresponse()
        content = answer.read(LARGEST)
    finally:
        connection.close()
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        document = {}
    return answer.status, document if isinstance(document, dict) else {}


class _EndpointConnection(HTTPSConnection):
    """A connection to an address that checks the name in the endpoint's certificate: addresses change, so no
    certificate contains an address."""

    def __init__(self, url: str, vpn: ProfileVpn) -> None:
        parts = urlsplit(url)
        super().__init__(parts.hostname or "", parts.port or 443)
        self._name = vpn.sign_in_name
        # Only the VPN's own authority is trusted.
        self._trust = ssl.create_default_context(cadata=vpn.authority)

    def connect(self) -> None:
        """Connect, and check the certificate's name."""
        plain = socket.create_connection((self.host, self.port), timeout=CONNECT_S)
        try:
            plain.settimeout(ANSWER_S)
            self.sock = self._trust.wrap_socket(plain, server_hostname=self._name)
        except (OSError, ValueError):
            plain.close()
            raise
