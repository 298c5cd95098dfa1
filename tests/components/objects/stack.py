"""The objects' stack under the real engine, with the lab's plugin, against a real API server."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from tests.support.engine import QUICK_PIP, engine_home, printed, resources
from tests.support.hosts import EXAMPLES, STACKS

ROOT = STACKS.parent
INFRASTRUCTURE = """\
import pulumi
pulumi.export("node_controller_role", "arn:aws:iam::123456789012:role/node-controller")
pulumi.export("autoscaler_role", "arn:aws:iam::123456789012:role/autoscaler")
"""
"""Program with the first stack's outputs and none of its resources."""
ONE_STATE = {"PULUMI_SKIP_CHECKPOINTS": "true"}
"""Variable with which the engine writes the state once, at its end (pulumi v3.250.0, ``sdk/go/common/env/env.go``).
Before and after each object it would write all of them: 14 of 18 seconds of processor, for Kueue's definitions are
large."""


class Stack:
    """A project of its own with one environment, and a backend."""

    def __init__(self, folder: Path, *, pulumi: Path, kubeconfig: Path, env: str = "lab") -> None:
        self.project, self._pulumi, self._env = folder / "project", pulumi, env
        (self.project / "stacks").mkdir(parents=True)
        shutil.copy(ROOT / "Pulumi.yaml", self.project)
        for name in (f"Pulumi.{env}.yaml", f"hosts.{env}.yaml", f"Pulumi.{env}-objects.yaml"):
            shutil.copy(
                next(path for path in (STACKS / name, EXAMPLES / name) if path.is_file()), self.project / "stacks"
            )
        self.change("")
        plugins = ROOT / "lab" / "providers" / "bin"
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("PULUMI_", "KUBE"))}
        self.environment = {
            **kept,
            "PATH": f"{Path(sys.executable).parent}:{plugins}:{pulumi.parent}:{os.environ['PATH']}",
            # The program of this checkout, wherever the environment's packages point.
            "PYTHONPATH": f"{QUICK_PIP}{os.pathsep}{ROOT}",
            "PULUMI_BACKEND_URL": f"file://{folder}",
            "PULUMI_CONFIG_PASSPHRASE": "lab",
            **engine_home(folder),
            "PULUMI_SKIP_UPDATE_CHECK": "true",
            "KUBECONFIG": str(kubeconfig),
        }
        self._first = folder / "infrastructure"
        self._first.mkdir()
        (self._first / "Pulumi.yaml").write_text("name: longhaul\nruntime: python\n")
        (self._first / "__main__.py").write_text("")
        self.run("stack", "init", env, cwd=self._first)
        self.run("stack", "init", f"{env}-objects", "--no-select")

    def change(self, lines: str) -> None:
        """Put ``lines`` before the program, such as another constant."""
        source = (STACKS / "__main__.py").read_text(encoding="utf-8")
        (self.project / "stacks" / "__main__.py").write_text(lines + source, encoding="utf-8")

    def declare(self, lines: str) -> None:
        """Put more keys, indented by four, into the environment."""
        path = self.project / "stacks" / f"Pulumi.{self._env}.yaml"
        path.write_text(path.read_text(encoding="utf-8") + lines, encoding="utf-8")

    def build_infrastructure(self, **more: str) -> None:
        """Create the outputs of the first stack, and ``more``."""
        exports = "".join(f"pulumi.export({name!r}, {value!r})\n" for name, value in more.items())
        (self._first / "__main__.py").write_text(INFRASTRUCTURE + exports)
        self.run("up", "--yes", "--skip-preview", "--stack", self._env, cwd=self._first)

    def run(self, *words: str, fails: bool = False, cwd: Path | None = None, kubeconfig: str | None = None) -> str:
        """Run ``pulumi`` and return what it printed."""
        more = {} if kubeconfig is None else {"KUBECONFIG": kubeconfig}
        return printed(
            [str(self._pulumi), *words], cwd=cwd or self.project, environ={**self.environment, **more}, fails=fails
        )

    def objects(self, command: str, *words: str, fails: bool = False, kubeconfig: str | None = None) -> str:
        """Run a command on the objects' stack."""
        where = ("--stack", f"{self._env}-objects", "--color", "never")
        return self.run(command, *words, *where, fails=fails, kubeconfig=kubeconfig)

    def up(self, *words: str, fails: bool = False) -> str:
        return self.objects("up", "--yes", "--skip-preview", *words, fails=fails)

    def fill(self) -> None:
        """Make the objects for tests of what they do: nobody kills this run."""
        self.environment |= ONE_STATE
        self.up()

    def state(self) -> dict[str, dict[str, object]]:
        """Return every resource in the state, by type and name."""
        found = resources(self.project.parent, f"{self._env}-objects")
        return {"::".join(one["urn"].split("$")[-1].split("::")[-2:]): one for one in found}
