"""Configuration of OpenVPN on a laptop (openvpn(8) of 2.6, doc/man-sections)."""

from __future__ import annotations

from pathlib import Path

from longhaul.client.vpn.admission import Admission

FILES = ("ca", "cert", "key", "tls-crypt")
"""Options that name a file; each is the file's name here as well."""

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


def contents(admission: Admission, key: str) -> dict[str, str]:
    """Return the content of each of :data:`FILES`."""
    return dict(zip(FILES, (admission.authority, admission.certificate, key, admission.tls_crypt), strict=True))


def beside_files(admission: Admission, folder: Path) -> str:
    """Return a configuration that names files in ``folder``, which OpenVPN reads again when it is told."""
    return _common(admission) + "".join(f'{name} "{folder / name}"\n' for name in FILES)


def in_one(admission: Admission, key: str) -> str:
    """Return a configuration that holds everything, for any program that knows OpenVPN's files."""
    blocks = (f"<{name}>\n{text}</{name}>\n" for name, text in contents(admission, key).items())
    return _common(admission) + "".join(blocks)


def _common(admission: Admission) -> str:
    remotes = "".join(f"remote {one.address} {one.port}\n" for one in admission.remotes)
    return f'{_SETTINGS}{remotes}verify-x509-name "{admission.name}" name\n'
