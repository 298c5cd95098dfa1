"""The VPN's client with a real OpenVPN at both ends, in namespaces of its own (``python -m … NAME FOLDER``)."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

from lab import openvpn
from longhaul.client.profile import Inside
from longhaul.client.vpn import session
from longhaul.client.vpn.admission import Admission, parse
from longhaul.client.vpn.endpoint import NotAdmittedError
from longhaul.terminal.exits import CommandError
from tests.support.api_server import eventually
from tests.support.vpn_stand_in import NAME, WITHIN, Machines, openvpn_server

SERVER, INSIDE, PORT = "192.0.2.1", "10.99.0.1", 8080
ECHO = f"""
import socketserver
class Echo(socketserver.StreamRequestHandler):
    def handle(self):
        for line in self.rfile:
            self.wfile.write(line)
socketserver.ThreadingTCPServer.daemon_threads = True
socketserver.ThreadingTCPServer(("0.0.0.0", {PORT}), Echo).serve_forever()
"""


TURNED = tuple(
    f'push "{one}"'
    for one in (
        "redirect-gateway def1",
        "route 0.0.0.0 128.0.0.0",
        "route 198.51.100.0 255.255.255.0",
        "route-ipv6 2000::/3",
        "ifconfig-ipv6 2001:db8::2/3 2001:db8::1",
        "dhcp-option DNS --interface=wlan0",
        "dhcp-option DOMAIN-ROUTE .",
        "echo x",
    )
)
"""Pushes of a VPN machine that was taken over."""


def routes(device: str) -> list[str]:
    """Return where the system sends to through a device, IPv4 and IPv6; but link-local."""
    words = [["ip", family, "route", "show", "dev", device] for family in ("-4", "-6")]
    said = "".join(subprocess.run(one, capture_output=True, text=True, check=True).stdout for one in words)
    return sorted(line.split()[0] for line in said.splitlines() if not line.startswith("fe80"))


def run(*words: str) -> bool:
    """Run a command; return whether it succeeded."""
    return subprocess.run(words, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


def connected() -> socket.socket | None:
    """Return a connection to a program behind the VPN; None when there is none yet."""
    try:
        return socket.create_connection((INSIDE, PORT), timeout=5)
    except OSError:
        return None


def echoes(connection: socket.socket) -> bool:
    """Send a line, and return whether it comes back."""
    connection.settimeout(20)
    connection.sendall(b"line\n")
    return connection.recv(64) == b"line\n"


@contextmanager
def machine() -> Iterator[tuple[str, ...]]:
    """A second network namespace, linked to this one; the words under which a command runs in it."""
    with subprocess.Popen(["unshare", "--net", "sleep", "infinity"]) as holder:
        try:
            own = os.readlink("/proc/self/ns/net")
            eventually(lambda: os.readlink(f"/proc/{holder.pid}/ns/net") != own, what="a namespace of its own")
            under = ("nsenter", f"--target={holder.pid}", "--net")
            for words in (
                ("ip", "link", "set", "lo", "up"),
                ("ip", "link", "add", "laptop", "type", "veth", "peer", "name", "machine", "netns", str(holder.pid)),
                ("ip", "address", "add", "192.0.2.2/24", "dev", "laptop"),
                ("ip", "link", "set", "laptop", "up"),
                (*under, "ip", "address", "add", f"{SERVER}/24", "dev", "machine"),
                (*under, "ip", "link", "set", "machine", "up"),
            ):
                assert run(*words), words
            yield under
        finally:
            holder.kill()


def connects_renews_and_ends(folder: Path) -> None:
    """The first remote is dead. The certificate is renewed once; then the person is let in no more."""
    program = openvpn.ensure(log_dir=folder, progress=print)
    os.environ["PATH"] = f"{program}:{os.environ['PATH']}"
    os.environ["XDG_STATE_HOME"] = str(folder / "state")
    machines = Machines()
    asked: list[bool] = []
    named: list[tuple[str, Inside]] = []
    resolved, may_renew, may_end = threading.Event(), threading.Event(), threading.Event()

    def source(csr: str, may_ask: bool) -> Admission:
        if not may_ask and not may_renew.is_set():
            raise CommandError("the issuer is away")
        if may_end.is_set():
            raise NotAdmittedError("no more")
        asked.append(may_ask)
        may_renew.clear()
        return parse(machines.answer(csr, person="alice"), name=NAME, inside=WITHIN)

    def resolve(device: str, inside: Inside) -> None:
        named.append((device, inside))
        resolved.set()

    session.resolve = resolve  # type: ignore[attr-defined]
    # A certificate is due at once, and asked for without a rest.
    session.VPN_RENEWED_AT, session.AGAIN, session.POLL_S = 0.0, timedelta(0), 0.1
    ended: list[str] = []

    def client() -> None:
        try:
            session.run("lab", source)
        except CommandError as error:
            ended.append(str(error))

    with machine() as under, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as dead:
        dead.bind(("127.0.0.1", 0))
        run("ip", "link", "set", "lo", "up")
        machines.remotes = [{"address": "127.0.0.1", "port": dead.getsockname()[1]}, {"address": SERVER, "port": 1194}]
        echo = subprocess.Popen([*under, sys.executable, "-c", ECHO])
        server = openvpn_server(program / "openvpn", folder / "server", machines, under=under, more=TURNED)
        log = folder / "server" / "server.log"
        thread = threading.Thread(target=client)
        thread.start()
        try:
            connection = eventually(connected, what="a connection through the tunnel")
            assert echoes(connection)
            assert dead.recv(65536), "the dead machine was asked first"
            index = socket.if_nametoindex("tun0")
            assert resolved.wait(60)
            assert routes("tun0") == ["10.96.0.0/12", "10.99.0.0/24"], "what a machine pushes turns nothing else to it"
            assert not (folder / "state/longhaul/vpn/lab/openvpn.conf").exists()
            may_renew.set()
            eventually(lambda: asked == [True, False], what="the second certificate is asked for")
            eventually(lambda: log.read_text().count("] Peer Connection Initiated") == 2, what="the second certificate")
            assert echoes(connection), "connections outlive a renewal"
            assert socket.if_nametoindex("tun0") == index, "the device stays"
        finally:
            may_end.set()
            may_renew.set()
            thread.join()
            for process in (server, echo):
                process.kill()
                process.wait()
    assert ended == ["no more"], ended
    assert asked == [True, False]
    assert named[0] == ("tun0", WITHIN)
    assert "tun0" not in [name for _, name in socket.if_nameindex()], "OpenVPN has ended"
    state = folder / "state/longhaul/vpn/lab"
    modes = {path.name: oct(path.stat().st_mode & 0o777) for path in state.iterdir()}
    assert set(modes.values()) == {"0o600"}, modes


if __name__ == "__main__":
    globals()[sys.argv[1]](Path(sys.argv[2]))
