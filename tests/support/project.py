"""Projects made for a test: this checkout's program, the test's own stack files, and nothing of the user's."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import yaml

REPOSITORY = Path(__file__).resolve().parents[2]
LIMIT_S = 1500.0
"""Time limit of a command of the lab in seconds, enough for a machine that compiles its tools meanwhile."""
ANSWERED = re.compile(r"^Error from server \((?!Unauthorized)|^command terminated with exit code \d", re.MULTILINE)
"""Pattern of kubectl's errors that are an API server's answer to a user whom it knows, or a command's own failure."""


def environment(name: str, *, supernet: str, etcd: int = 1, events: int = 1, api: int = 1) -> dict[str, Any]:
    """Return the lab's control plane alone, with another name and size."""
    raw = hybrid(name, supernet=supernet, etcd=etcd, events=events, api=api)
    raw["sites"] = {site: raw["sites"][site] for site in (raw["control_plane"]["site"],)}
    del raw["pools"], raw["bare_metal"]
    return raw


def hybrid(name: str, *, supernet: str, etcd: int = 3, events: int = 3, api: int = 2) -> dict[str, Any]:
    """Return the lab's whole environment with another name."""
    return _renamed("lab", name, supernet=supernet, etcd=etcd, events=events, api=api)


def everything(name: str, *, supernet: str, etcd: int = 1, events: int = 1, api: int = 2) -> dict[str, Any]:
    """Return the environment of `make lab ENV=full` with another name."""
    return _renamed("full", name, supernet=supernet, etcd=etcd, events=events, api=api)


def _renamed(source: str, name: str, *, supernet: str, etcd: int, events: int, api: int) -> dict[str, Any]:
    config = parsed(REPOSITORY / "stacks" / f"Pulumi.{source}.yaml")
    raw: dict[str, Any] = config["config"]["longhaul:environment"]
    raw |= {"name": name, "supernet": supernet, "domain": f"{name}.longhaul.internal"}
    for part, key, count in (("etcd", "members", etcd), ("events", "members", events), ("api", "servers", api)):
        raw["control_plane"][part][key] = count
    for site in raw["sites"].values():
        for gateway in site.get("gateways", ()):
            gateway["host_key"] = host_key(name, gateway["name"])
    return raw


def parsed(path: Path) -> Any:
    """Return a YAML file's content, by libyaml, which is eight times as fast as Python."""
    return yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)


def dumped(value: Any, *, sort_keys: bool = True) -> str:
    """Return YAML of the value, by libyaml as well."""
    return str(yaml.dump(value, Dumper=yaml.CSafeDumper, sort_keys=sort_keys))


@dataclass(frozen=True, kw_only=True)
class Project:
    """A project folder with one environment, and the commands run in it."""

    path: Path
    env: str

    @classmethod
    def empty(cls, path: Path, *, env: str) -> Project:
        """Make a project with this checkout's program and no environment file yet."""
        stacks = path / "stacks"
        stacks.mkdir(parents=True)
        shutil.copy(REPOSITORY / "Pulumi.yaml", path)
        shutil.copy(REPOSITORY / "stacks" / "__main__.py", stacks)
        return cls(path=path, env=env)

    @classmethod
    def make(cls, path: Path, raw: dict[str, Any]) -> Project:
        """Make a project with one environment."""
        project = cls.empty(path, env=raw["name"])
        project.write(raw)
        if "bare_metal" in raw:
            project.write_hosts(raw)
        return project

    @property
    def stack_file(self) -> Path:
        """Path of the environment's file."""
        return self.path / "stacks" / f"Pulumi.{self.env}.yaml"

    @property
    def state(self) -> Path:
        """Path of the lab's state folder for this environment."""
        return self.path / ".lab" / self.env

    def read(self) -> dict[str, Any]:
        """Return the environment from its file."""
        raw = parsed(self.stack_file)
        return dict(raw["config"]["longhaul:environment"])

    def write(self, raw: dict[str, Any]) -> None:
        """Write the environment; what the engine keeps in the file stays."""
        known = parsed(self.stack_file) if self.stack_file.exists() else {}
        known = {**known, "config": {"longhaul:environment": raw}}
        self.stack_file.write_text(dumped(known, sort_keys=False), encoding="utf-8")

    def write_hosts(self, raw: dict[str, Any]) -> None:
        """Write the lab's rack under this environment's name: its machines' keys follow from their names."""
        hosts = parsed(REPOSITORY / "stacks" / "hosts.lab.yaml")
        for host in hosts["hosts"]:
            host["host_key"] = host_key(self.env, host["name"])
        path = self.stack_file.parent / raw["bare_metal"]
        path.write_text(dumped(hosts, sort_keys=False), encoding="utf-8")

    def up(self) -> str:
        """Build this environment's lab, as ``make lab`` does; return what it printed."""
        return self._lab_up().stdout

    def prepare(self) -> None:
        """Give this environment's lab the images and the depot that its file asks for, without a change of it."""
        self._lab_up("--prepare")

    def _lab_up(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return run([sys.executable, "-m", "lab.up", "--project", str(self.path), "--env", self.env, *arguments])

    def lab(self, verb: str, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run ``python -m lab VERB`` for this environment."""
        words = [sys.executable, "-m", "lab", verb, "--env", self.env, "--state-root", str(self.path / ".lab")]
        return run([*words, *arguments], check=check)

    def in_background(self, verb: str, *arguments: str) -> subprocess.Popen[str]:
        """Start the same in the background: wait for it with ``communicate``."""
        words = [sys.executable, "-m", "lab", verb, "--env", self.env, "--state-root", str(self.path / ".lab")]
        return subprocess.Popen(
            [*words, *arguments], stdout=subprocess.PIPE, text=True, cwd=REPOSITORY, env=caller_variables()
        )

    def longhaul(self, command: str, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run ``longhaul <command>`` for this environment."""
        executable = str(Path(sys.executable).with_name("longhaul"))
        return run([executable, command, "--project", str(self.path), "--env", self.env, *arguments], check=check)

    def longhaul_in_background(self, command: str, *arguments: str, to: TextIO | None = None) -> subprocess.Popen[str]:
        """Start the same in the background; the output of both channels goes into the file ``to``, or is in
        ``stdout``, from which the caller reads while the command runs."""
        executable = str(Path(sys.executable).with_name("longhaul"))
        words = [executable, command, "--project", str(self.path), "--env", self.env, *arguments]
        stdout = subprocess.PIPE if to is None else to
        return subprocess.Popen(
            words, stdout=stdout, stderr=subprocess.STDOUT, text=True, cwd=REPOSITORY, env=caller_variables()
        )

    def shell_in_background(self, machine: str, *words: str) -> subprocess.Popen[str]:
        """Start a command on a machine in the background; the caller ends it."""
        executable = str(Path(sys.executable).with_name("longhaul"))
        shell = [executable, "shell", "--project", str(self.path), "--env", self.env, machine, "--", *words]
        return subprocess.Popen(shell, stdout=subprocess.PIPE, text=True, cwd=REPOSITORY, env=caller_variables())

    def status(self) -> dict[str, Any]:
        """Return the output of ``longhaul status --json``, whatever the verdict."""
        return dict(json.loads(self.longhaul("status", "--json", check=False).stdout))

    def await_healthy(self) -> dict[str, Any]:
        """Wait until the status is healthy and return it (:func:`await_healthy`)."""
        return await_healthy(self.longhaul)

    def phase(self, machine: str) -> str:
        """Return the phase of a machine in the lab: starting, running, stopped…; empty for an unknown machine, or while
        the lab's daemon does not answer. Asked in this process, as tests ask until it is another one."""
        from lab.__main__ import status
        from lab.state import LabState

        machines = status(LabState.of(self.env, root=self.path / ".lab")).get("machines", ())
        return next((str(item["phase"]) for item in machines if item["name"] == machine), "")

    def cut_power(self, *machines: str) -> None:
        """Cut the machines' power; return when all are stopped."""
        for machine in machines:
            self.lab("power", machine, "cut")
        eventually(lambda: all(self.phase(machine) == "stopped" for machine in machines))

    def kubectl(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run kubectl on this host with the administrator's kubeconfig. To fetch it takes longer than most calls, so it
        is fetched again only when no server that knows the administrator answers. The call is repeated if the
        kubeconfig has changed."""
        from lab import tools

        path = self.state / "kubeconfig"
        words = [str(tools.bin_dir() / "kubectl"), "--kubeconfig", str(path), *arguments]
        known = path.read_bytes() if path.exists() else b""
        if known:
            done = run(words, check=False)
            if done.returncode == 0 or ANSWERED.search(done.stderr):
                return checked(words, done) if check else done
        self.longhaul("kubeconfig")
        if path.read_bytes() != known:
            return run(words, check=check)
        return checked(words, done) if check else done

    def create(self, value: object, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Make an object, or a ``List`` of them, with further arguments for kubectl."""
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(value, file)
            file.flush()
            return self.kubectl("create", "-f", file.name, *arguments, check=check)

    def on(self, machine: str, script: str, *, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run a shell script on a machine."""
        from lab.state import LabState
        from tests.support.inside import run_inside

        state = LabState.of(self.env, root=self.path / ".lab")
        done = run_inside(state, machine, script, limit_s=LIMIT_S)
        return checked([machine, script], done) if check else done

    def engine(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run plain ``pulumi`` as the lab's operator, with its hidden flags enabled."""
        enter = [str(self.state / "enter"), "env", "PULUMI_DEBUG_COMMANDS=true"]
        return run([*enter, "pulumi", *arguments, "--stack", self.env], check=check, cwd=self.path)


def await_healthy(longhaul: Callable[..., subprocess.CompletedProcess[str]]) -> dict[str, Any]:
    """Wait until the status is healthy where ``longhaul`` runs, and return it. It may be degraded for a moment: a
    tunnel is dialled, a load balancer probes. AssertionError with the findings if it stays so."""
    deadline = time.monotonic() + 300
    while not (found := dict(json.loads(longhaul("status", "--json", check=False).stdout)))["healthy"]:
        assert time.monotonic() < deadline, json.dumps(found, indent=1)
        time.sleep(0.2)
    return found


def eventually(true: Callable[[], bool], *, limit_s: float = 300.0) -> None:
    """Wait for a condition that nothing announces by asking repeatedly; AssertionError when it never becomes true."""
    deadline = time.monotonic() + limit_s
    while not true():
        assert time.monotonic() < deadline, f"not so within {limit_s:g} s"
        time.sleep(0.2)


def run(words: list[str], *, check: bool = True, cwd: Path = REPOSITORY) -> subprocess.CompletedProcess[str]:
    """Run a command; with ``check``, a failure shows what it printed."""
    done = subprocess.run(
        words,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=LIMIT_S,
        cwd=cwd,
        env=caller_variables(),
        check=False,
    )
    return checked(words, done) if check else done


def checked(words: list[str], done: subprocess.CompletedProcess[str]) -> subprocess.CompletedProcess[str]:
    """Return the result of a command; AssertionError with what it printed if it failed."""
    if done.returncode != 0:
        text = f"{done.stdout[-6000:]}\n{done.stderr[-6000:]}"
        raise AssertionError(f"{' '.join(words)} ended with {done.returncode}\n{text}")
    return done


def caller_variables() -> dict[str, str]:
    """Return the caller's variables, without those that would lead a command to the user's own state."""
    dropped = ("PULUMI_", "AZURE_", "ARM_", "LONGHAUL_ENV")
    return {key: value for key, value in os.environ.items() if not key.startswith(dropped)}


def host_key(env: str, name: str) -> str:
    """Return the public host key of a rack's machine in the lab ``env``."""
    from lab.hosts import host_key
    from lab.ssh import public_text

    return public_text(host_key(env, f"{env}-{name}"))
