"""Admission to the VPN: a short-lived certificate and the parameters of a connection.

An endpoint's answer becomes part of the configuration of OpenVPN, which runs as root. So only values in the form of a
certificate, a key, an address or a name are accepted. The endpoint cannot choose which packets and DNS queries go
through the VPN.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from longhaul.client.profile import Inside

_CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----\n[A-Za-z0-9+/=\n]+-----END CERTIFICATE-----\n?")
_STATIC_KEY = re.compile(
    r"-----BEGIN OpenVPN Static key V1-----\n(?:[0-9a-f]{32}\n){16}-----END OpenVPN Static key V1-----\n?"
)
_ADDRESS = re.compile(r"[A-Za-z0-9][A-Za-z0-9.:-]{0,252}")
MOST = 16
"""Maximum number of remotes; an environment has two VPN machines."""
LONGEST_S = 86_400
"""Longest accepted lifetime of a certificate, seconds."""


@dataclass(frozen=True, kw_only=True)
class VpnDoor:
    """Address or name of a VPN machine, and its UDP port."""

    address: str
    port: int


@dataclass(frozen=True, kw_only=True)
class Admission:
    """Everything that a connection needs in addition to the laptop's private key."""

    name: str
    """Name in the VPN machines' certificates."""
    certificate: str
    authority: str
    """Authority of the VPN machines' certificates, PEM."""
    tls_crypt: str
    """OpenVPN's ``tls-crypt`` key, in its file format; OpenVPN does not answer without this key."""
    expires: datetime
    """Expiry of the certificate by this machine's clock, which may be wrong."""
    remotes: tuple[VpnDoor, ...]
    inside: Inside


def parse(answer: Mapping[str, Any], *, name: str, inside: Inside) -> Admission:
    """Return the admission in an endpoint's answer. Raise ``ValueError``, ``KeyError``, ``TypeError`` or
    ``AttributeError`` when the answer is invalid."""
    return Admission(
        name=name,
        certificate=_blocks(_CERTIFICATE, answer["certificate"]),
        authority=_blocks(_CERTIFICATE, answer["authority"]),
        tls_crypt=_blocks(_STATIC_KEY, answer["tls_crypt"]),
        expires=datetime.now(UTC) + timedelta(seconds=_life_s(answer["lasts_s"])),
        remotes=tuple(
            VpnDoor(address=_address(remote["address"]), port=_port(remote["port"]))
            for remote in _few(answer["remotes"])
        ),
        inside=inside,
    )


def _blocks(pattern: re.Pattern[str], text: str) -> str:
    blocks = [block.rstrip("\n") for block in pattern.findall(text)]
    if not blocks:
        raise ValueError("no block of PEM")
    return "\n".join(blocks) + "\n"


def _life_s(seconds: object) -> float:
    if not isinstance(seconds, int | float) or not 0 < seconds <= LONGEST_S:
        raise ValueError("no certificate's life")
    return seconds


def _few(values: object) -> list[Any]:
    if not isinstance(values, list) or not 0 < len(values) <= MOST:
        raise ValueError("none, or too many")
    return values


def _address(text: str) -> str:
    if not _ADDRESS.fullmatch(text):
        raise ValueError("neither a name nor an address")
    return text


def _port(number: object) -> int:
    if not isinstance(number, int) or not 0 < number < 65536:
        raise ValueError("no port")
    return number
