"""Profile of an environment: the one file that its operators give to people.

It contains no secret and gives no access. Its digest detects damage and careless edits; somebody who changes the
profile on purpose can write a new digest. So its content is proven only at use: the authority in the profile proves the
API server, and the issuer's own certificate proves the issuer. A token is sent to the API that the profile names. So a
profile that leads elsewhere than the stored profile is refused until the person confirms it. Take a profile only from
sources that you would take a program from.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path
from typing import Any

from longhaul.client.errors import SignInError

FORMAT = 1
"""Version of the file's format."""

LARGEST = 262_144
"""Largest profile in bytes."""


@dataclass(frozen=True, kw_only=True)
class ProfileIssuer:
    """An identity provider at which people sign in."""

    url: str
    client_id: str
    scopes: tuple[str, ...]
    certificate_authority: str = ""
    """Authority of the issuer's server certificate, PEM; empty for the operating system's authorities."""


@dataclass(frozen=True, kw_only=True)
class Inside:
    """Part of the network that a laptop reaches through the VPN. A VPN machine cannot change it."""

    range: str
    """Addresses of the environment and its laptops, IPv4 CIDR; traffic to all other addresses stays outside the VPN."""
    dns: str
    """Address of the name server inside the VPN."""
    zones: tuple[str, ...]
    """DNS zones that this name server resolves."""


@dataclass(frozen=True, kw_only=True)
class ProfileVpn:
    """An environment's VPN, for laptops."""

    endpoints: tuple[str, ...]
    """URLs of the sign-in endpoints, which are equivalent."""
    authority: str
    """Authority of the VPN machines' certificates, PEM."""
    name: str
    """Name in OpenVPN's certificates."""
    inside: Inside

    @property
    def sign_in_name(self) -> str:
        """Name in the certificates of the sign-in endpoints (components/model/secrets/certificates.py)."""
        return f"sign-in.{self.name}"


@dataclass(frozen=True, kw_only=True)
class Profile:
    """Everything that a sign-in needs to know about an environment."""

    name: str
    """The environment's name."""
    server: str
    """Address of the API, a URL."""
    server_name: str
    """Name in the API servers' certificates when it differs from the host in ``server``; otherwise empty."""
    authority: str
    """Authority of the API servers' certificates, PEM."""
    issuers: Mapping[str, ProfileIssuer]
    """Issuers by name."""
    expires: str
    """Time after which the profile is refused, RFC 3339."""
    vpn: ProfileVpn | None = None
    """The environment's VPN; None without a VPN."""

    def text(self) -> str:
        """Return the file's content."""
        content = {"format": FORMAT, **asdict(self)}
        if self.vpn is None:
            del content["vpn"]
        return json.dumps({**content, "digest": digest(content)}, indent=1) + "\n"

    def place(self) -> str:
        """Return a digest of the servers that see the person's tokens. Tokens for one digest are not used for
        another."""
        vpn = asdict(self.vpn) if self.vpn is not None else None
        return digest({"server": self.server, "authority": self.authority, "vpn": vpn})[:16]

    def issuer(self, name: str | None) -> ProfileIssuer:
        """Return the issuer ``name``, or the only issuer when ``name`` is None. Raise ``SignInError`` when there is no
        such issuer, or when ``name`` is None and there are several."""
        if name is None and len(self.issuers) == 1:
            return next(iter(self.issuers.values()))
        if name is not None and name in self.issuers:
            return self.issuers[name]
        known = ", ".join(self.issuers)
        asked = f"no issuer {name!r}" if name is not None else "several issuers"
        raise SignInError(f"{self.name} has {asked}: name one by --issuer ({known})")


_AGAIN = "ask the environment's operator for a new one (`longhaul access profile`)"


def read_profile(path: Path, *, now: datetime | None = None) -> Profile:
    """Read a profile. Raise ``SignInError`` when it is invalid or expired."""
    profile = read_former(path)
    expires = datetime.fromisoformat(profile.expires)
    if expires <= (now or datetime.now(UTC)):
        raise SignInError(f"the profile {path} expired on {expires:%Y-%m-%d}: {_AGAIN}")
    return profile


def read_former(path: Path) -> Profile:
    """Read a profile that may have expired. Raise ``SignInError`` when it is invalid."""
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
    except OSError as error:
        raise SignInError(f"the profile {path} cannot be read: {error.strerror}") from None
    try:
        return parse(content)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise SignInError(f"{path} is not a profile, or it was changed: {_AGAIN}") from None


def parse(content: bytes) -> Profile:
    """Parse a profile. Raise ``ValueError``, ``KeyError``, ``TypeError`` or ``AttributeError`` when it is invalid."""
    if len(content) > LARGEST:
        raise ValueError("too large")
    fields: dict[str, Any] = json.loads(content)
    written = fields.pop("digest")
    if written != digest(fields) or fields.pop("format") != FORMAT:
        raise ValueError("changed")
    issuers = {
        str(name): ProfileIssuer(**{**issuer, "scopes": tuple(map(str, issuer["scopes"]))})
        for name, issuer in fields["issuers"].items()
    }
    vpn = _vpn(fields["vpn"]) if "vpn" in fields else None
    profile = Profile(**{**fields, "issuers": issuers, "vpn": vpn})
    texts = (profile.name, profile.server, profile.server_name, profile.authority, profile.expires)
    if not all(isinstance(text, str) for text in texts):
        raise ValueError("not a profile")
    urls = [profile.server, *(issuer.url for issuer in issuers.values()), *(vpn.endpoints if vpn else ())]
    if datetime.fromisoformat(profile.expires).tzinfo is None:
        raise ValueError("a time without a zone")
    if not issuers or not all(url.startswith("https://") for url in urls) or not _is_plain(profile.name):
        raise ValueError("not a profile")
    return profile


def _vpn(section: Mapping[str, Any]) -> ProfileVpn:
    inside = _inside(section["inside"])
    vpn = ProfileVpn(**{**section, "endpoints": tuple(map(str, section["endpoints"])), "inside": inside})
    # It becomes part of the configuration of OpenVPN, which runs as root.
    if not vpn.endpoints or not _is_domain(vpn.name):
        raise ValueError("no VPN")
    return vpn


def _inside(section: Mapping[str, Any]) -> Inside:
    inside = Inside(**{**section, "zones": tuple(map(str, section["zones"]))})
    if not inside.zones or not all(map(_is_domain, inside.zones)):
        raise ValueError("no zones")
    if IPv4Address(inside.dns) not in IPv4Network(inside.range):
        raise ValueError("a name server elsewhere")
    return inside


def _is_domain(name: str) -> bool:
    return all(map(_is_plain, name.split(".")))


def _is_plain(name: str) -> bool:
    """Return whether a name can be a folder's name."""
    return name.isascii() and name.replace("-", "").isalnum() and not name.startswith("-")


def digest(content: Mapping[str, Any]) -> str:
    """Return the digest of a profile's content."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
