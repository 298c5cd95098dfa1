"""A project of its own for each test, and the command, which runs in it as for a user."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import IO, Any

import pytest

from longhaul.toolchain.cache import sha256_file
from longhaul.toolchain.plugin_checksums import ChecksumFile
from longhaul.toolchain.plugin_sources import source_of
from longhaul.toolchain.spec import machine_arch
from tests.longhaul import fake_engine
from tests.longhaul.fake_ansible import FakeAnsible, install
from tests.support.commands import RunningCommand, run_command
from tests.support.engine import QUICK_PIP
from tests.support.programs import write_program
from tests.support.project import dumped, environment, hybrid, parsed

LIMIT_S = 600.0
"""Time limit of a command here in seconds, enough for a busy machine."""

UP = ("up", "--env", "dev", "--yes", "--only", "infrastructure")
"""Command that tests of the engine use: it runs the one phase that needs it."""


SUBSCRIPTION = "11111111-0000-4000-8000-000000000001"
"""Subscription of an account that no test uses, and no lab's."""


@dataclass(kw_only=True)
class Checkout:
    """A project folder with one environment, ``dev``, of a cloud that no test asks."""

    path: Path
    home: Path
    repository: Path
    environ: dict[str, str] = field(default_factory=dict)

    @property
    def stack_file(self) -> Path:
        return self.path / "stacks" / "Pulumi.dev.yaml"

    @property
    def backend(self) -> Path:
        return self.path.parent / "backend"

    def environment(self) -> dict[str, Any]:
        raw: dict[str, Any] = parsed(self.stack_file)["config"]["longhaul:environment"]
        return raw

    def write(self, raw: dict[str, Any], **beside: Any) -> None:
        self.stack_file.write_text(dumped({"config": {"longhaul:environment": raw}, **beside}))

    def gains_hosts(self) -> None:
        """Replace the environment by the lab's whole one, with an on-premises site, a gateway and a host."""
        raw = hybrid("dev", supernet="10.64.0.0/12")
        raw["sites"]["weu"]["subscription"] = SUBSCRIPTION
        self.write(raw)
        shutil.copy(self.repository / "stacks" / raw["bare_metal"], self.path / "stacks")

    def variables(self) -> dict[str, str]:
        return {
            "HOME": str(self.home),
            "PATH": os.environ["PATH"],
            "PYTHONPATH": f"{self.repository}:{QUICK_PIP}",
            "PULUMI_BACKEND_URL": f"file://{self.backend}",
            "PULUMI_CONFIG_PASSPHRASE": "correct horse",
            # The lack of credentials is reported at once: the rest of the chain waits for a machine's identity.
            "AZURE_TOKEN_CREDENTIALS": "EnvironmentCredential",
            "AWS_EC2_METADATA_DISABLED": "true",
            "LONGHAUL_OFFLINE": "1",
            "GOGC": os.environ["GOGC"],
            **self.environ,
        }

    def plugin(self, package: str) -> Path:
        """Return the folder in the engine's home where a plugin is installed."""
        return self.home / ".pulumi" / "plugins" / f"resource-{package}-v{version(f'pulumi-{package}')}"

    @property
    def checksums(self) -> ChecksumFile:
        return ChecksumFile(self.path / "stacks" / "plugins.sha256")

    def has_plugins(self) -> None:
        """Put plugins there that no program of the test uses, with their checksums: `up` asks whether they are."""
        sums = {}
        for package in ("aws", "azure-native", "kubernetes"):
            program = write_program(self.plugin(package) / f"pulumi-resource-{package}", "#!/bin/sh\nexit 1\n")
            name = source_of(package).executable(version(f"pulumi-{package}"), machine_arch())
            sums[name] = sha256_file(program)
        self.checksums.add(sums)

    def argv(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "longhaul", *words]

    def run(self, *words: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
        return run_command(words, cwd=self.path, environ=self.variables(), limit_s=LIMIT_S, stdin=stdin)

    def start(
        self,
        *words: str,
        stdout: IO[bytes] | int | None = None,
        stderr: IO[bytes] | int | None = None,
        prepare: Callable[[], object] = lambda: None,
    ) -> RunningCommand:
        """Start the command, with nothing to read. ``prepare`` is called in its process."""
        streams = (subprocess.DEVNULL, stdout, stderr)
        return RunningCommand(words, cwd=self.path, environ=self.variables(), streams=streams, prepare=prepare)


@dataclass(frozen=True, kw_only=True)
class FakeEngine:
    """The stand-in engine of one test."""

    folder: Path
    checkout: Checkout

    def calls(self) -> list[dict[str, Any]]:
        notes = self.folder / "calls"
        return [json.loads(line) for line in notes.read_text().splitlines()] if notes.exists() else []

    def commands(self) -> list[str]:
        return [" ".join(call["words"]) for call in self.calls()]

    def fails(self, verb: str, code: int = 1, *, stack: str = "") -> None:
        (self.folder / f"{verb}{stack}").write_text(str(code))

    def waits(self, stack: str = "", verb: str = "up") -> None:
        (self.folder / f"wait{stack}").write_text(verb)

    def prints(self, verb: str, text: str) -> None:
        (self.folder / f"prints-{verb}").write_text(text)

    def previews(self, text: str, *, stack: str = "") -> None:
        (self.folder / f"says{stack}").write_text(text)

    def logs(self, *events: dict[str, Any], stack: str = "dev") -> None:
        """Set the events that a run of the stack logs."""
        lines = [json.dumps({"sequence": number, **event}) for number, event in enumerate(events)]
        (self.folder / f"events{stack}").write_text("".join(f"{line}\n" for line in lines))

    def has_stack(self, name: str = "dev", **latest: object) -> None:
        """Create the stack; it holds one resource unless ``resources`` says otherwise."""
        group = {"urn": "urn:pulumi:dev::longhaul::longhaul:Cluster::dev", "type": "longhaul:Cluster"}
        fake_engine.write_state(self.checkout.backend, name, **{"resources": [group], **latest})

    def forgets_stack(self) -> None:
        """Remove the stack."""
        self.state_file().unlink()

    def state_file(self) -> Path:
        return self.checkout.backend / ".pulumi" / "stacks" / "longhaul" / "dev.json"


@pytest.fixture(name="checkout")
def _checkout(tmp_path: Path, root: Path) -> Checkout:
    path = tmp_path / "project"
    (path / "stacks").mkdir(parents=True)
    (tmp_path / "home").mkdir()
    (tmp_path / "backend").mkdir()
    definition = {"name": "longhaul", "runtime": "python", "main": "stacks/", "stackConfigDir": "stacks/"}
    (path / "Pulumi.yaml").write_text(dumped(definition))
    checkout = Checkout(path=path, home=tmp_path / "home", repository=root)
    raw = environment("dev", supernet="10.64.0.0/12")
    raw["sites"]["weu"]["subscription"] = SUBSCRIPTION
    checkout.write(raw)
    return checkout


@pytest.fixture
def vault_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give up a vault that is not there after one try. Commands run in forks of this process, and know it."""
    monkeypatch.setattr("clouds.azure.api.VAULT_CONNECTIONS", 0)


@pytest.fixture(name="engine")
def _engine(checkout: Checkout, tmp_path: Path) -> FakeEngine:
    folder = tmp_path / "engine"
    main = "tests.longhaul.fake_engine"
    text = f"#!{sys.executable}\nimport sys\nfrom {main} import main\nsys.exit(main())\n"
    binary = write_program(folder / "pulumi", text)
    checkout.has_plugins()
    checkout.environ |= {"LONGHAUL_PULUMI": str(binary), "FAKE_ENGINE": str(folder)}
    return FakeEngine(folder=folder, checkout=checkout)


@pytest.fixture(name="ansible")
def _ansible(checkout: Checkout, engine: FakeEngine) -> FakeAnsible:
    """An environment with racks, an engine and an Ansible that only record their calls, and a kubeconfig."""
    checkout.gains_hosts()
    binary = install(engine.folder)
    checkout.environ |= {"LONGHAUL_ANSIBLE": str(binary), "LONGHAUL_KUBECONFIG": "/given/kubeconfig"}
    engine.has_stack()
    engine.has_stack("dev-objects")
    return FakeAnsible(folder=engine.folder)
