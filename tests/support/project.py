"""Projects made for a test: this checkout's program, stack files of the test's own, nothing of the user's."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

REPOSITORY = Path(__file__).resolve().parents[2]
LIMIT_S = 1500.0
"""No command of the lab takes longer, even on a machine that compiles its tools meanwhile."""


def environment(name: str, *, supernet: str, etcd: int = 1, events: int = 1, api: int = 1) -> dict[str, Any]:
    """The lab's control plane alone, under another name and of another size."""
    raw = hybrid(name, supernet=supernet, etcd=etcd, events=events, api=api)
    raw["sites"] = {site: raw["sites"][site] for site in (raw["control_plane"]["site"],)}
    del raw["pools"], raw["bare_metal"]
    return raw


def hybrid(name: str, *, supernet: str, etcd: int = 3, events: int = 3, api: int = 2) -> dict[str, Any]:
    """The lab's environment, whole, under another name."""
    config = yaml.safe_load((REPOSITORY / "stacks" / "Pulumi.lab.yaml").read_text(encoding="utf-8"))
    raw: dict[str, Any] = config["config"]["longhaul:environment"]
    raw |= {"name": name, "supernet": supernet, "domain": f"{name}.longhaul.internal"}
    for part, key, count in (("etcd", "members", etcd), ("events", "members", events), ("api", "servers", api)):
        raw["control_plane"][part][key] = count
    for site in raw["sites"].values():
        for gateway in site.get("gateways", ()):
            gateway["host_key"] = host_key(name, gateway["name"])
    return raw


@dataclass(frozen=True, kw_only=True)
class Project:
    """A project folder with one environment, and the commands run in it."""

    path: Path
    env: str

    @classmethod
    def empty(cls, path: Path, *, env: str) -> Project:
        """A project whose program is this checkout's, and whose environment has no file yet."""
        stacks = path / "stacks"
        stacks.mkdir(parents=True)
        shutil.copy(REPOSITORY / "Pulumi.yaml", path)
        shutil.copy(REPOSITORY / "stacks" / "__main__.py", stacks)
        return cls(path=path, env=env)

    @classmethod
    def make(cls, path: Path, raw: dict[str, Any]) -> Project:
        """A project with one environment."""
        project = cls.empty(path, env=raw["name"])
        project.write(raw)
        if "bare_metal" in raw:
            project.write_hosts(raw)
        return project

    @property
    def stack_file(self) -> Path:
        """The environment's file."""
        return self.path / "stacks" / f"Pulumi.{self.env}.yaml"

    @property
    def state(self) -> Path:
        """The lab's state folder of this environment."""
        return self.path / ".lab" / self.env

    def read(self) -> dict[str, Any]:
        """The environment as its file has it."""
        raw = yaml.safe_load(self.stack_file.read_text(encoding="utf-8"))
        return dict(raw["config"]["longhaul:environment"])

    def write(self, raw: dict[str, Any]) -> None:
        """Change the environment; what the engine keeps in the file stays."""
        known = yaml.safe_load(self.stack_file.read_text(encoding="utf-8")) if self.stack_file.exists() else {}
        known = {**known, "config": {"longhaul:environment": raw}}
        self.stack_file.write_text(yaml.safe_dump(known, sort_keys=False), encoding="utf-8")

    def write_hosts(self, raw: dict[str, Any]) -> None:
        """The lab's rack under this environment's name: its machines' keys follow from their names."""
        hosts = yaml.safe_load((REPOSITORY / "stacks" / "hosts.lab.yaml").read_text(encoding="utf-8"))
        for host in hosts["hosts"]:
            host["host_key"] = host_key(self.env, host["name"])
        path = self.stack_file.parent / raw["bare_metal"]
        path.write_text(yaml.safe_dump(hosts, sort_keys=False), encoding="utf-8")

    def up(self) -> str:
        """What ``make lab`` does, for this environment; returns what it printed."""
        return run([sys.executable, "-m", "lab.up", "--project", str(self.path), "--env", self.env]).stdout

    def lab(self, verb: str, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """``python -m lab VERB`` for this environment."""
        words = [sys.executable, "-m", "lab", verb, "--env", self.env, "--state-root", str(self.path / ".lab")]
        return run([*words, *arguments], check=check)

    def in_background(self, verb: str, *arguments: str) -> subprocess.Popen[str]:
        """The same, running: wait for it with ``communicate``."""
        words = [sys.executable, "-m", "lab", verb, "--env", self.env, "--state-root", str(self.path / ".lab")]
        return subprocess.Popen(
            [*words, *arguments], stdout=subprocess.PIPE, text=True, cwd=REPOSITORY, env=_environment()
        )

    def longhaul(self, command: str, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """``longhaul <command>`` for this environment."""
        executable = str(Path(sys.executable).with_name("longhaul"))
        return run([executable, command, "--project", str(self.path), "--env", self.env, *arguments], check=check)

    def longhaul_in_background(self, command: str, *arguments: str) -> subprocess.Popen[str]:
        """The same, running; what it says on both channels is in ``stdout``."""
        executable = str(Path(sys.executable).with_name("longhaul"))
        words = [executable, command, "--project", str(self.path), "--env", self.env, *arguments]
        return subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=REPOSITORY, env=_environment()
        )

    def shell_in_background(self, machine: str, *words: str) -> subprocess.Popen[str]:
        """A command on a machine, running; whoever asked ends it."""
        executable = str(Path(sys.executable).with_name("longhaul"))
        shell = [executable, "shell", "--project", str(self.path), "--env", self.env, machine, "--", *words]
        return subprocess.Popen(shell, stdout=subprocess.PIPE, text=True, cwd=REPOSITORY, env=_environment())

    def status(self) -> dict[str, Any]:
        """What ``longhaul status --json`` says, well or not."""
        return dict(json.loads(self.longhaul("status", "--json", check=False).stdout))

    def await_well(self) -> dict[str, Any]:
        """What status says once it finds everything well, which it may not at every moment: a tunnel is dialled, a load
        balancer probes. AssertionError with what it finds instead."""
        deadline = time.monotonic() + 300
        while not (found := self.status())["well"]:
            assert time.monotonic() < deadline, json.dumps(found, indent=1)
            time.sleep(0.2)
        return found

    def phase(self, machine: str) -> str:
        """What the lab says of a machine: starting, running, stopped…; empty for one that it has not, or while its
        daemon does not answer."""
        found = json.loads(self.lab("status", "--json", check=False).stdout).get("machines", ())
        return next((str(one["phase"]) for one in found if one["name"] == machine), "")

    def cut_power(self, *machines: str) -> None:
        """Pull the plugs; returns when all are dead."""
        for machine in machines:
            self.lab("power", machine, "cut")
        eventually(lambda: all(self.phase(machine) == "stopped" for machine in machines))

    def kubectl(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """kubectl from the host with the administrator's kubeconfig. To fetch that takes longer than most calls: it is
        fetched again when a call fails, which is repeated if it is another by now."""
        from lab import tools

        path = self.state / "kubeconfig"
        words = [str(tools.bin_dir() / "kubectl"), "--kubeconfig", str(path), *arguments]
        known = path.read_bytes() if path.exists() else b""
        if known:
            done = run(words, check=False)
            if done.returncode == 0:
                return done
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
        """A shell script on a machine."""
        return self.longhaul("shell", machine, "--", "sh", "-c", script, check=check)

    def engine(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Plain ``pulumi`` as the lab's operator, with those of its flags that it hides."""
        enter = [str(self.state / "enter"), "env", "PULUMI_DEBUG_COMMANDS=true"]
        return run([*enter, "pulumi", *arguments, "--stack", self.env], check=check, cwd=self.path)


def eventually(true: Callable[[], bool], *, limit_s: float = 300.0) -> None:
    """Await a condition that nothing announces, asking again and again; AssertionError when it never comes."""
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
        env=_environment(),
        check=False,
    )
    return checked(words, done) if check else done


def checked(words: list[str], done: subprocess.CompletedProcess[str]) -> subprocess.CompletedProcess[str]:
    """What a command did; AssertionError with what it printed if it failed."""
    if done.returncode != 0:
        text = f"{done.stdout[-6000:]}\n{done.stderr[-6000:]}"
        raise AssertionError(f"{' '.join(words)} ended with {done.returncode}\n{text}")
    return done


def _environment() -> dict[str, str]:
    """The caller's, without what would lead a command to the user's own state."""
    dropped = ("PULUMI_", "AZURE_", "ARM_", "LONGHAUL_ENV")
    return {key: value for key, value in os.environ.items() if not key.startswith(dropped)}


def host_key(env: str, name: str) -> str:
    """The public host key of a rack's machine in the lab ``env``."""
    from lab.racks import host_key
    from lab.ssh import public_text

    return public_text(host_key(env, f"{env}-{name}"))
