"""Programs on the lab's laptop, which is on the internet and has no way in but the environment's VPN."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.project import REPOSITORY, Project, checked, eventually

CONNECTED = re.compile(r"connected to (\S+) as (\S+);")

KEEP = """
import json, sys, time
from pathlib import Path
from longhaul.client.profile import read_profile
from longhaul.client.tokens import Tokens, TokenStore
profile = read_profile(Path(sys.argv[1]))
for issuer in profile.issuers.values():
    tokens = Tokens(id_token=sys.stdin.read(), refresh_token="", ends=time.time() + 3600)
    TokenStore(issuer, profile.place()).write(tokens)
"""
"""Keeps a token as the one of a sign-in that was."""

PORTS = """
import json, socket, sys
from concurrent.futures import ThreadPoolExecutor
def there(port):
    with socket.socket() as probe:
        probe.settimeout(3)
        try:
            probe.connect((sys.argv[1], port))
        except ConnectionRefusedError:
            return True
        except OSError:
            return False
        return True
ports = json.loads(sys.argv[2])
with ThreadPoolExecutor(256) as threads:
    print(json.dumps([port for port, found in zip(ports, threads.map(there, ports)) if found]))
"""
"""Prints the TCP ports of an address that answer. One that refuses counts: it was reached."""


@dataclass
class Tunnel:
    """A running ``longhaul vpn``."""

    process: subprocess.Popen[str]
    said: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        self.said.extend(iter(self.process.stdout.readline, ""))

    @property
    def connections(self) -> list[tuple[str, str]]:
        """Return the VPN machine's public address and the own one of each connection that came about, in order."""
        return [found.groups() for line in self.said if (found := CONNECTED.search(line))]  # type: ignore[misc]


@dataclass(frozen=True, kw_only=True)
class Laptop:
    """The laptop of a project's lab."""

    project: Project

    def run(self, *words: str, check: bool = True, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """Run a command on it."""
        full = [str(self.project.state / "enter-laptop"), *words]
        done = subprocess.run(full, input=stdin, capture_output=True, text=True, cwd=REPOSITORY, check=False)
        return checked(full, done) if check else done

    def longhaul(self, command: str, *words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run ``longhaul`` on it, as the operator of the environment."""
        return self.run(*self._longhaul(command, *words), check=check)

    def get(self, url: str, *, limit_s: float = 10) -> str:
        """Return what a URL answers; empty when it does not."""
        words = ["curl", "--silent", "--insecure", "--max-time", str(limit_s), url]
        return self.run(*words, check=False).stdout

    def open_ports(self, address: str, ports: Sequence[int]) -> list[int]:
        """Return those TCP ports of an address that answer, if only by a refusal."""
        said = self.run(sys.executable, "-c", PORTS, address, json.dumps(list(ports))).stdout
        return [int(port) for port in json.loads(said)]

    def keep(self, profile: Path, token: str) -> None:
        """Have a token as after a sign-in."""
        self.run(sys.executable, "-c", KEEP, str(profile), stdin=token)

    @contextmanager
    def connected(self, *words: str) -> Iterator[Tunnel]:
        """Be connected during the block: ``words`` are those of ``longhaul vpn``, none for the operator's own."""
        full = [str(self.project.state / "enter-laptop"), *self._longhaul("vpn", *words)]
        process = subprocess.Popen(full, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=REPOSITORY)
        tunnel = Tunnel(process)
        try:
            eventually(lambda: bool(tunnel.connections) or process.poll() is not None, limit_s=120)
            assert tunnel.connections, "".join(tunnel.said)
            yield tunnel
        finally:
            process.terminate()
            process.wait()
            # OpenVPN ends by itself once nobody holds its management connection.
            eventually(lambda: "tun" not in self.run("ip", "-oneline", "link").stdout, limit_s=30)

    def _longhaul(self, command: str, *words: str) -> list[str]:
        executable = str(Path(sys.executable).with_name("longhaul"))
        located = [] if "--profile" in words else ["--project", str(self.project.path), "--env", self.project.env]
        return [executable, command, *located, *words]
