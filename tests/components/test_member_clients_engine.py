"""With the real engine, members' client certificates from 0.1.0 come to their own authority in one run, or in the next
one when that breaks off."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from components.control_plane import issuing
from lab import tools
from longhaul.engine.locate import engine_environment
from tests.components.member_clients_program import AILING, NEW, OLD, PLANNED, RELEASE, VAULT
from tests.support.engine import printed
from tests.support.project import REPOSITORY

pytestmark = pytest.mark.engine


class Stack:
    """A project with one stack of ``member_clients_program.py``."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._vault = folder, folder / "vault"
        self._pulumi = tools.ensure(["pulumi"], log_dir=folder / "log", progress=print)["pulumi"]
        self._vault.mkdir()
        (folder / "Pulumi.yaml").write_text("name: longhaul\nruntime: python\n")
        (folder / "__main__.py").write_text("from tests.components.member_clients_program import main\n\nmain()\n")
        self.run("stack", "init", "dev", release=OLD)

    def run(self, *words: str, release: str = NEW, ailing: str = "", fails: bool = False) -> str:
        kept = {key: value for key, value in os.environ.items() if not key.startswith("PULUMI_")}
        environ = {
            **kept,
            "LONGHAUL_PULUMI": str(self._pulumi),
            "PULUMI_BACKEND_URL": f"file://{self._folder}",
            "PULUMI_CONFIG_PASSPHRASE": "lab",
            "PYTHONPATH": str(REPOSITORY),
            RELEASE: release,
            VAULT: str(self._vault),
            AILING: ailing,
        }
        words = (str(self._pulumi), *words, "--color", "never", "--non-interactive")
        return printed(words, cwd=self._folder, environ=engine_environment(environ), fails=fails)

    def up(self, *, release: str = NEW, ailing: str = "", fails: bool = False) -> str:
        return self.run("up", "--yes", "--skip-preview", release=release, ailing=ailing, fails=fails)

    def stored(self) -> dict[str, str]:
        """Return what the vault has, by name."""
        return {path.name: path.read_text(encoding="utf-8") for path in self._vault.iterdir()}

    def issuers(self) -> set[str]:
        """Return the names of the authorities that the members' client certificates are of."""
        stored = self.stored()
        keys = {
            issuing.key_fingerprint(json.loads(stored[f"ca-{name}"])["certificate"]): name
            for name in ("etcd", "etcd-client")
        }
        return {keys[issuing.key_fingerprint(json.loads(stored[one.name])["issuer"])] for one in PLANNED}


@pytest.fixture(name="stack")
def _stack(tmp_path: Path) -> Stack:
    return Stack(tmp_path)


def test_an_environment_from_0_1_0_comes_there_though_the_first_run_breaks_off(stack: Stack) -> None:
    stack.up(release=OLD)
    assert stack.issuers() == {"etcd-client"}
    before = stack.stored()
    assert "dev-etcd-2 is not ready" in stack.up(ailing="dev-etcd-2", fails=True)
    assert stack.stored() == before, "what only new machines trust is not issued while there may be old ones"
    stack.up()
    assert stack.issuers() == {"etcd"}
    stack.run("preview", "--expect-no-changes")
    assert stack.stored().keys() == before.keys()


def test_a_new_environment_s_are_never_of_the_former_authority(stack: Stack) -> None:
    stack.up(ailing="dev-etcd-0", fails=True)
    assert stack.issuers() == {"etcd"}
    before = stack.stored()
    stack.up()
    assert stack.stored() == before
    stack.run("preview", "--expect-no-changes")


def test_to_destroy_takes_no_certificate_twice(stack: Stack) -> None:
    stack.up()
    stack.run("destroy", "--yes", "--skip-preview")
    assert stack.stored() == {}
