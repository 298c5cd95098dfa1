"""A real lab for tests, whose world comes from a pickle in place of a cloud."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Interface, IPv4Network
from pathlib import Path
from typing import Any

import pytest

from lab import teardown
from lab.__main__ import status
from lab.cgroups import ControlGroup
from lab.desired import DesiredBalancer, DesiredMachine, DesiredProbe, DesiredRule, DesiredSubnet, Network, World
from lab.image import LabImages, bake
from lab.state import LabState
from tests.support.inside import run_inside

PROJECT = Path(__file__).resolve().parents[3]
ONE = "/subscriptions/x/virtualnetworks/one"
TWO = "/subscriptions/x/virtualnetworks/two"
EGRESS = IPv4Address("198.51.100.100")
PLATFORM = IPv4Network("168.63.129.16/32")
FRONTEND = IPv4Address("10.1.0.9")
DROPPED = 28
"""Exit code of curl when nothing answered in time."""
LIMIT_S = 300.0
"""Time limit of everything here in seconds, enough for a busy machine."""

ECHO = """#!/usr/bin/python3
import socket, socketserver, sys, threading
class Tcp(socketserver.BaseRequestHandler):
    def handle(self):
        self.request.recv(65536)
        text = f"{socket.gethostname()} {self.client_address[0]}\\n"
        head = f"HTTP/1.1 200 OK\\r\\nContent-Length: {len(text)}\\r\\nConnection: close\\r\\n\\r\\n"
        self.request.sendall((head + text).encode())
class Udp(socketserver.BaseRequestHandler):
    def handle(self):
        with open("/run/heard", "ab") as file:
            file.write(self.request[0] + b"\\n")
class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True
servers = [Server(("0.0.0.0", 8000), Tcp), Server(("0.0.0.0", 9000), Tcp)]
servers.append(socketserver.UDPServer(("0.0.0.0", 8001), Udp))
for server in servers:
    threading.Thread(target=server.serve_forever).start()
"""
UNIT = "[Service]\nExecStart=/usr/bin/python3 /opt/echo.py\n"


def user_data(*commands: str) -> bytes:
    """Return cloud-config (JSON is YAML) that installs and starts the echo server, then runs ``commands``."""
    content = {
        "locale": "C.UTF-8",
        "write_files": [
            {"path": "/opt/echo.py", "content": ECHO},
            {"path": "/etc/systemd/system/echo.service", "content": UNIT},
        ],
        "runcmd": ["systemctl start echo", *commands],
    }
    return b"#cloud-config\n" + json.dumps(content).encode()


def rule(name: str, priority: int, direction: str, **more: Any) -> DesiredRule:
    values = {"allow": True, "protocol": "any", **more}
    return DesiredRule(name=name, priority=priority, direction=direction, **values)  # type: ignore[arg-type]


RULES = (
    rule("out", 100, "out"),
    rule("no-ssh", 90, "out", allow=False, protocol="tcp", ports=((22, 22),)),
    rule("probes", 200, "in", sources=(PLATFORM,)),
    rule("web", 300, "in", protocol="tcp", ports=((8000, 8000),)),
    rule("datagrams", 310, "in", protocol="udp", ports=((8001, 8001),)),
    rule("ping", 320, "in", protocol="icmp"),
)


def machine(name: str, address: str, network: str = ONE, **more: Any) -> DesiredMachine:
    values = {"generation": "g1", "rules": RULES, "user_data": user_data(), "image": "", **more}
    return DesiredMachine(id=f"/vm/{name}", name=name, network=network, address=IPv4Interface(address), **values)


def network_one(**more: Any) -> Network:
    subnet = DesiredSubnet(name="a", range=IPv4Network("10.1.0.0/24"), egress=(EGRESS,), service_endpoint=True)
    values: dict[str, Any] = {"subnets": (subnet,), "names": {"api.lab.internal": FRONTEND}, **more}
    return Network(id=ONE, name="one", ranges=(IPv4Network("10.1.0.0/16"),), **values)


def network_two(**more: Any) -> Network:
    subnet = DesiredSubnet(name="b", range=IPv4Network("10.2.0.0/24"))
    return Network(id=TWO, name="two", ranges=(IPv4Network("10.2.0.0/16"),), subnets=(subnet,), **more)


def balancer(**more: Any) -> DesiredBalancer:
    # Four answers in a row: on a machine that is busy for a moment two may be late, though the backend is up.
    probe = DesiredProbe(protocol="http", port=8000, interval_s=0.5, threshold=4)
    values: dict[str, Any] = {"probe": probe, "backends": (IPv4Address("10.1.0.4"), IPv4Address("10.1.0.5")), **more}
    return DesiredBalancer(id="lb", network=ONE, frontend=FRONTEND, port=80, backend_port=8000, **values)


def eventually(look: Callable[[], Any], *, what: str, timeout_s: float = LIMIT_S) -> Any:
    """Return the first true answer of ``look``."""
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        if found := look():
            return found
        time.sleep(0.1)
    raise AssertionError(f"not within {timeout_s:g} s: {what}")


def contents(path: Path) -> bytes:
    """Return a file's content; empty once it is gone, like those of a process that has ended."""
    try:
        return path.read_bytes()
    except OSError:
        return b""


def command_of(pid: int) -> bytes:
    """Return a process's command line; empty once it has ended."""
    return contents(Path(f"/proc/{pid}/cmdline"))


def parent_of(pid: int) -> int:
    """Return the process that started it; 0 once it has ended (proc(5): the second field after the name)."""
    fields = contents(Path(f"/proc/{pid}/stat")).rpartition(b")")[2].split()
    return int(fields[1]) if fields else 0


@dataclass(frozen=True)
class Lab:
    """One environment under test."""

    state: LabState
    rootfs: Path
    prefix: tuple[str, ...] = ()
    """Command under which the lab's commands run."""

    def lab(self, *words: str, check: bool = True, **more: Any) -> subprocess.CompletedProcess[str]:
        verb, *rest = words
        argv = [
            *self.prefix,
            sys.executable,
            "-m",
            "lab",
            verb,
            "--env",
            self.state.env,
            "--state-root",
            str(self.state.root),
            *rest,
        ]
        result = subprocess.run(argv, cwd=PROJECT, capture_output=True, text=True, check=False, timeout=LIMIT_S, **more)
        assert not check or result.returncode == 0, result.stderr
        return result

    def start(self, *more: str, check: bool = True, **options: Any) -> subprocess.CompletedProcess[str]:
        words = ["start", "--rootfs", str(self.rootfs), "--operators", "10.9.0.0/24", "--supernet", "10.0.0.0/8"]
        words += ["--api-address", f"{FRONTEND}:80", "--cloud", "tests.lab.hypervisor.fake_cloud:FakeCloud"]
        return self.lab(*words, *more, check=check, **options)

    def apply(self, world: World) -> None:
        """Give the hypervisor a world; return once it has seen it."""
        from tests.lab.hypervisor.fake_cloud import write_world

        write_world(self.state.cloud, world)
        number = str((self.state.cloud / "world").stat().st_ino)
        applied = self.state.cloud / "applied"
        eventually(lambda: applied.exists() and applied.read_text() == number, what="the world is applied")

    def status(self) -> dict[str, Any]:
        if self.prefix:
            return dict(json.loads(self.lab("status", "--json", check=False).stdout))
        return status(self.state)

    def machine(self, name: str) -> dict[str, Any]:
        """Return a machine as the daemon describes it. If the daemon does not answer, nothing is known: neither the
        machine nor that it is absent."""
        status = self.status()
        found = [item for item in status.get("machines", []) if item["name"] == name]
        phase = "absent" if "machines" in status else "unknown"
        return dict(found[0]) if found else {"phase": phase, "generation": "", "reason": ""}

    def verdicts(self) -> dict[str, bool]:
        """Return for each backend of :func:`balancer` whether it is up; empty before the daemon knows them."""
        return dict(self.status().get("load_balancers", {}).get("lb", {}))

    def await_phase(self, phase: str, *names: str, generation: str = "") -> None:
        for name in names:

            def reached(name: str = name) -> bool:
                seen = self.machine(name)
                return seen["phase"] == phase and (not generation or seen["generation"] == generation)

            eventually(reached, what=f"{name} is {phase}: {self.machine(name)}", timeout_s=2 * LIMIT_S)

    def inside(self, name: str, script: str, *, check: bool = True) -> subprocess.CompletedProcess[str]:
        if self.prefix:
            return self.lab("shell", name, "--", "sh", "-c", script, check=check)
        done = run_inside(self.state, name, script, limit_s=LIMIT_S)
        assert not check or done.returncode == 0, done.stderr
        return done

    @contextmanager
    def meanwhile(self, name: str, command: str) -> Iterator[None]:
        """Repeat ``command`` on a machine, from once before the block until after its end."""
        self.inside(name, "rm -f /run/quiet")
        script = f"until [ -e /run/quiet ]; do {command} > /dev/null; echo once; sleep 0.1; done"
        argv = [sys.executable, "-m", "lab", "shell", "--env", self.state.env, "--state-root", str(self.state.root)]
        with subprocess.Popen([*argv, name, "--", "sh", "-c", script], cwd=PROJECT, stdout=subprocess.PIPE) as talking:
            try:
                assert talking.stdout is not None
                assert talking.stdout.readline() == b"once\n"
                yield
            finally:
                self.inside(name, "touch /run/quiet")
                talking.communicate()

    def enter(self, *argv: str, **more: Any) -> subprocess.CompletedProcess[str]:
        words = [str(self.state.enter), *argv]
        return subprocess.run(words, capture_output=True, text=True, check=False, timeout=LIMIT_S, **more)

    def pid(self) -> int:
        return int(json.loads(self.state.init_file.read_text())["pid"])

    def daemon_pid(self) -> int:
        """Return the daemon's pid on the host: the child of process 1. Processes that it starts look like it for a
        moment."""

        def found() -> int | None:
            pids = [pid for pid in ControlGroup.of(self.state).members() if b"lab.daemon" in command_of(pid)]
            return next((pid for pid in pids if parent_of(pid) == self.pid()), None)

        return int(eventually(found, what="a daemon"))

    def namespace(self, name: str) -> str:
        return f"/proc/{self.pid()}/root/run/longhaul/netns/{name}"

    def log(self) -> str:
        return self.state.daemon_log.read_text()


def curl(address: str, *, wait_s: int = 60, more: Sequence[str] = ()) -> str:
    """Return a curl command that waits for an answer, however busy the machine is."""
    return " ".join(["curl", "-sS", "-m", str(wait_s), *more, address])


def vain(address: str, *, more: Sequence[str] = ()) -> str:
    """Return a curl command for a call that nothing should ever answer: it waits a moment, and ends with
    :data:`DROPPED`."""
    return curl(address, wait_s=3, more=more)


@pytest.fixture(scope="session")
def rootfs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Root file system that the machines under test boot."""
    if os.geteuid() != 0:
        pytest.skip("machines need root")
    if given := os.environ.get("LONGHAUL_TEST_ROOTFS"):
        return Path(given)
    return baked(tmp_path_factory).node


@pytest.fixture(scope="session")
def gateway_rootfs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Root file system of the clouds' gateways."""
    if given := os.environ.get("LONGHAUL_TEST_GATEWAY_ROOTFS"):
        return Path(given)
    return baked(tmp_path_factory).gateway


def baked(tmp_path_factory: pytest.TempPathFactory) -> LabImages:
    """Return this checkout's images; made once."""
    return bake(log_dir=tmp_path_factory.mktemp("bake"), progress=print)


@pytest.fixture(scope="module")
def make_lab(rootfs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Lab]]:
    """Function that makes labs by environment name. They are removed afterwards in any case, with nothing left."""
    made: list[Lab] = []

    def make(env: str) -> Lab:
        lab = Lab(LabState.of(env, root=tmp_path_factory.mktemp("lab") / "state"), rootfs)
        made.append(lab)
        return lab

    yield make
    # All of them, even if one of them cannot be removed.
    there = [lab for lab in made if lab.state.root.exists() or teardown.leftovers(lab.state)]
    ended = [lab.lab("down", "--all", check=False) for lab in there]
    assert [done.stderr for done in ended if done.returncode != 0] == []
    assert not [lab.state.root for lab in made if lab.state.root.exists()]
