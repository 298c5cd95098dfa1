"""Configuration of OpenVPN on a laptop (openvpn(8) of 2.6, doc/man-sections)."""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv4Network
from pathlib import Path

from longhaul.client.vpn.admission import Admission

FILES = ("ca", "cert", "key", "tls-crypt")
"""Options that name a file; here each file has its option's name."""

_SETTINGS = """\
client
dev tun
proto udp
nobind
persist-tun
remote-cert-tls server
tls-version-min 1.3
verb 3
# A machine that is dead is passed over: it has to answer the first packet, to end the handshake, and to be heard of
# again, each within these seconds. One that was good is tried once more. A server's own `keepalive` replaces the last
# two lines.
connect-timeout 3
hand-window 15
connect-retry 1 15
resolv-retry 5
ping 2
ping-restart 6
# The machine forgets this laptop at once.
explicit-exit-notify 1
"""

TAKEN = (
    *("ifconfig ", "topology subnet", "route-gateway ", "peer-id ", "cipher ", "protocol-flags ", "key-derivation "),
    *("ping ", "ping-restart "),
)
"""Prefixes of the options that a VPN machine may push (openvpn(8), "--pull-filter"): the laptop's address and protocol
settings. Routes, name servers and zones are ignored: they would direct the laptop's other traffic to the VPN
machine."""


def file_contents(admission: Admission, key: str) -> dict[str, str]:
    """Return the content of each of :data:`FILES`."""
    return dict(zip(FILES, (admission.authority, admission.certificate, key, admission.tls_crypt), strict=True))


def arguments(admission: Admission, folder: Path) -> list[str]:
    """Return OpenVPN's arguments. Keys and certificates are in files in ``folder``, which OpenVPN reads again at a
    signal. All other settings are arguments, because the person can change the files and OpenVPN runs as root."""
    options = [*_common(admission), *((name, str(folder / name)) for name in FILES), _NO_SCRIPTS]
    return [word for name, *words in options for word in (f"--{name}", *words)]


def single_file(admission: Admission, key: str) -> str:
    """Return a complete configuration in one file, for any program that reads OpenVPN's files."""
    blocks = (f"<{name}>\n{text}</{name}>\n" for name, text in file_contents(admission, key).items())
    return "".join(map(_line, _common(admission))) + "".join(blocks) + _line(_NO_SCRIPTS)


_NO_SCRIPTS = ("script-security", "1")
"""Last option, which overrides earlier options: with it, OpenVPN runs only the system's network programs."""


def _common(admission: Admission) -> list[tuple[str, ...]]:
    inside = IPv4Network(admission.inside.range)
    return [
        *(tuple(line.split()) for line in _SETTINGS.splitlines() if not line.startswith("#")),
        *(("remote", remote.address, str(remote.port)) for remote in admission.remotes),
        ("verify-x509-name", admission.name, "name"),
        ("route", str(inside.network_address), str(inside.netmask)),
        ("dhcp-option", "DNS", admission.inside.dns),
        *(("dhcp-option", "DOMAIN-ROUTE", zone) for zone in admission.inside.zones),
        *(("pull-filter", "accept", text) for text in TAKEN),
        ("pull-filter", "ignore", ""),
    ]


def _line(words: Sequence[str]) -> str:
    """Return a configuration line. No word contains a quotation mark or a backslash."""
    return " ".join(word if word and " " not in word else f'"{word}"' for word in words) + "\n"
