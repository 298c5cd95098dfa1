"""A running VPN: OpenVPN in the foreground, with a certificate that is renewed before it expires."""

from __future__ import annotations

import fcntl
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Interface, IPv4Network
from pathlib import Path

from contract.lifetimes import VPN_RENEWED_AT
from longhaul.client.files import state_folder, write_private
from longhaul.client.vpn import openvpn, openvpn_file
from longhaul.client.vpn.admission import Admission
from longhaul.client.vpn.endpoint import NotAdmittedError
from longhaul.client.vpn.key import new_key, request
from longhaul.client.vpn.management import EndedError, Management, accept, listening
from longhaul.client.vpn.names import resolve
from longhaul.terminal.exits import CommandError
from longhaul.terminal.say import say

Source = Callable[[str, bool], Admission]
"""Returns an admission for a certificate request. The function may ask the person to sign in if the second argument is
true."""

AGAIN = timedelta(seconds=30)
"""Time until a failed renewal is tried again."""
POLL_S = 5.0
"""Seconds between looks at the clock: time passes unnoticed while a laptop sleeps."""
END_S = 15.0
"""Time limit for OpenVPN to end, seconds."""


def folder_of(name: str) -> Path:
    """Return the folder with an environment's VPN files."""
    return state_folder("vpn") / name


@contextmanager
def connection_lock(name: str) -> Iterator[Path]:
    """Lock out a second connection to the same environment during the block; yield the environment's folder."""
    folder = folder_of(name)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor = os.open(folder / "lock", os.O_WRONLY | os.O_CREAT, 0o600)
    with os.fdopen(descriptor) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise CommandError(f"`longhaul vpn` of {name} runs on this machine already: end it first") from None
        yield folder


def run(name: str, source: Source) -> None:
    """Connect, and stay connected until the person or OpenVPN ends the connection. Raise ``CommandError`` with the
    reason when OpenVPN ended it."""
    program = openvpn.program()
    signal = openvpn.reading_signal(program)
    with connection_lock(name) as folder, tempfile.TemporaryDirectory(prefix="longhaul-vpn-") as private:
        key = new_key()
        csr = request(key)
        first = source(csr, True)
        for file, text in openvpn_file.file_contents(first, key).items():
            write_private(folder / file, text)
        if os.geteuid() != 0:
            say("openvpn needs root: sudo may ask for your password")
        path = Path(private) / "management"
        with listening(path) as listener:
            log = folder / "openvpn.log"
            process = openvpn.start(program, openvpn_file.arguments(first, folder), socket=path, log=log)
            session = VpnSession(name=name, folder=folder, renew=lambda: source(csr, False), signal=signal, first=first)
            try:
                session.follow(accept(listener, runs=lambda: process.poll() is None))
            except EndedError:
                raise CommandError(_why(session.fatal, process, log)) from None
            finally:
                session.close()
                # OpenVPN ends by itself once the management connection is closed.
                with suppress(subprocess.TimeoutExpired):
                    process.wait(END_S)


class VpnSession:
    """Follows a running OpenVPN: tells the person what happens, and renews the certificate."""

    def __init__(
        self, *, name: str, folder: Path, renew: Callable[[], Admission], signal: str, first: Admission
    ) -> None:
        self._name, self._folder, self._renew, self._signal = name, folder, renew, signal
        self._management: Management | None = None
        self._expires, self._due = _times(first)
        self._inside = first.inside
        self._variables: dict[str, str] = {}
        self.fatal = ""
        """Message of the error that ended OpenVPN; empty without one."""

    def follow(self, management: Management) -> None:
        """Handle OpenVPN's messages and renew the certificate until OpenVPN ends, which raises ``EndedError``."""
        self._management = management
        management.send("state on")
        while True:
            line = management.read(POLL_S)
            if line is not None:
                self._hear(line)
            self._renew_if_due(management)

    def close(self) -> None:
        """Close the management connection, which ends OpenVPN."""
        if self._management is not None:
            self._management.close()

    def _hear(self, line: str) -> None:
        kind, _, message = line.partition(":")
        if kind == ">FATAL":
            self.fatal = message
        elif kind == ">STATE":
            _, state, *words = [*message.split(","), "", "", ""]
            if state == "CONNECTED":
                say(f"{self._name}: connected to {words[2]} as {words[1]}; Ctrl-C ends it")
            elif state == "RECONNECTING":
                say(f"{self._name}: connecting again ({words[0]})")
        elif line == ">UPDOWN:UP":
            self._variables.clear()
        elif line == ">UPDOWN:ENV,END":
            self._come_up()
        elif line.startswith(">UPDOWN:ENV,"):
            variable, _, value = line.removeprefix(">UPDOWN:ENV,").partition("=")
            self._variables[variable] = value

    def _come_up(self) -> None:
        """Set up name resolution. Raise ``CommandError`` when the device's network is not inside the environment's
        range: the system sends all traffic for that network through the device (openvpn(8), "Environmental
        Variables")."""
        variable = self._variables.get
        address, mask = variable("ifconfig_local", ""), variable("ifconfig_netmask", "")
        try:
            fits = IPv4Interface(f"{address}/{mask}").network.subnet_of(IPv4Network(self._inside.range))
        except ValueError:
            fits = False
        if not fits:
            raise CommandError(
                f"the VPN machine gave this one the address {address}/{mask}, outside {self._inside.range} of "
                f"{self._name}, so the connection was ended: tell the environment's operator"
            )
        resolve(variable("dev", ""), self._inside)

    def _renew_if_due(self, management: Management) -> None:
        """Have OpenVPN use a new certificate, when it is time. OpenVPN reconnects, which takes a second or two;
        connections inside the VPN survive."""
        now = datetime.now(UTC)
        if now < self._due:
            return
        try:
            fresh = self._renew()
        except NotAdmittedError:
            raise
        except CommandError as error:
            if now >= self._expires:
                raise CommandError(
                    f"the certificate has expired, and it could not be renewed: {error}", code=error.code
                ) from None
            say(f"the certificate is not renewed yet, and expires at {self._expires.astimezone():%H:%M}: {error}")
            self._due = now + AGAIN
            return
        write_private(self._folder / "cert", fresh.certificate)
        self._expires, self._due = _times(fresh)
        management.send(f"signal {self._signal}")


def _times(admission: Admission) -> tuple[datetime, datetime]:
    """Return a certificate's expiry and the time of its renewal."""
    now = datetime.now(UTC)
    return admission.expires, now + (admission.expires - now) * VPN_RENEWED_AT


def _why(fatal: str, process: subprocess.Popen[bytes], log: Path) -> str:
    """Return the reason why OpenVPN ended."""
    with suppress(subprocess.TimeoutExpired):
        process.wait(END_S)
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    last = fatal or (lines[-1] if lines else "it said nothing")
    return f"openvpn ended with status {process.returncode}: {last[-300:]} (its whole output: {log})"
