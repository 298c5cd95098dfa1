"""With the real engine, keys of tunnels change only where a rotation has them read, and only the named resources."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from components.model.network.tunnel_keys import READ_VARIABLE
from lab import tools
from longhaul.engine.location import engine_environment
from tests.components.control_plane.folder_vault import VAULT
from tests.components.control_plane.tunnel_keys_program import OWN
from tests.support.engine import QUICK_PIP, engine_home, printed
from tests.support.project import REPOSITORY

pytestmark = pytest.mark.engine


class Stack:
    """A project with one stack of a program beside this module."""

    program = "tunnel_keys_program"

    def __init__(self, folder: Path) -> None:
        self._folder, self.vault, self._home = folder, folder / "vault", engine_home(folder)
        self._pulumi = tools.ensure(["pulumi"], log_dir=folder / "log", progress=print)["pulumi"]
        self.vault.mkdir()
        (folder / "Pulumi.yaml").write_text("name: longhaul\nruntime: python\n")
        program = f"tests.components.control_plane.{self.program}"
        (folder / "__main__.py").write_text(f"from {program} import main\n\nmain()\n")
        self.run("stack", "init", "dev")

    def run(self, *words: str, fails: bool = False, **variables: str) -> str:
        kept = {key: value for key, value in os.environ.items() if not key.startswith("PULUMI_")}
        environ = {
            **kept,
            **self._home,
            "LONGHAUL_PULUMI": str(self._pulumi),
            "PULUMI_BACKEND_URL": f"file://{self._folder}",
            "PULUMI_CONFIG_PASSPHRASE": "lab",
            "PYTHONPATH": f"{REPOSITORY}:{QUICK_PIP}",
            VAULT: str(self.vault),
            **variables,
        }
        words = (str(self._pulumi), *words, "--color", "never", "--non-interactive")
        return printed(words, cwd=self._folder, environ=engine_environment(environ), fails=fails)

    def up(self, *names: str) -> None:
        """Run `up`, or what a rotation runs for some resources."""
        targets = [word for name in names for word in ("--target", f"**::{name}")]
        self.run("up", "--yes", "--skip-preview", *targets, **({READ_VARIABLE: "yes"} if names else {}))

    def outputs(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.run("stack", "output", "--json", "--show-secrets"))
        return found

    def resources(self) -> dict[str, Any]:
        state = json.loads(self.run("stack", "export", "--show-secrets"))
        return {one["urn"].rpartition("::")[2]: one for one in state["deployment"]["resources"]}

    def has(self) -> dict[str, str]:
        """Return the key of each connection."""
        found = self.resources()
        return {name: json.loads(found[name]["outputs"]["has"]["plaintext"]) for name in ("azure", "aws", "between")}


def test_racks_get_keys_before_clouds_do_and_up_leaves_them(tmp_path: Path) -> None:
    stack = Stack(tmp_path)
    stack.up()
    first = (stack.vault / "tunnel-held").read_text()
    assert [path.name for path in stack.vault.iterdir()] == ["tunnel-held"]
    assert stack.has() == {"azure": first, "aws": OWN, "between": OWN}
    assert stack.outputs() == {"held": [first, []], "given": [OWN, []]}
    found = stack.resources()
    assert found["held"]["urn"] in found["azure"]["dependencies"]
    assert found["given"]["urn"] in found["aws"]["dependencies"]
    assert found["aws"]["urn"] in found["between"]["dependencies"]

    (stack.vault / "tunnel-held").write_text(f"new {first}")
    (stack.vault / "tunnel-given").write_text("other")
    stack.run("up", "--yes", "--skip-preview", "--expect-no-changes")
    stack.up("held", "given")
    assert stack.outputs() == {"held": ["new", [first]], "given": ["other", [OWN]]}
    assert stack.has() == {"azure": first, "aws": OWN, "between": OWN}, "no cloud has a new key yet"
    stack.up("azure")
    assert stack.has() == {"azure": "new", "aws": OWN, "between": OWN}
    stack.up("aws", "between")
    assert stack.has() == {"azure": "new", "aws": "other", "between": "other"}
    assert stack.outputs() == {"held": ["new", [first]], "given": ["other", []]}

    (stack.vault / "tunnel-held").write_text("new")
    stack.up("held")
    assert stack.outputs() == {"held": ["new", []], "given": ["other", []]}
    stack.run("preview", "--expect-no-changes")


def test_a_run_that_ended_before_clouds_had_their_keys_is_finished_by_up(tmp_path: Path) -> None:
    stack = Stack(tmp_path)
    stack.up()
    (stack.vault / "tunnel-given").write_text("other")
    stack.up("given")
    stack.up()
    assert stack.has()["aws"] == stack.has()["between"] == "other"
    stack.run("preview", "--expect-no-changes")
