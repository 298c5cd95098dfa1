"""A release's states under today's program: the real engine, stand-ins for plugins, nothing of the user's."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from longhaul.engine.throwaway import STATE_VERSION, copy_stack_file, throwaway_backend
from longhaul.plan.changes import Changes, read_changes
from longhaul.plan.document import read_document
from tests.support.project import LIMIT_S, REPOSITORY
from tests.upgrade.releases import LAB, Release

NOWHERE = "/nowhere"
"""The cluster's kubeconfig: what is compared is in the state."""
DROPPED = ("PULUMI_", "AZURE_", "ARM_", "AWS_", "KUBE", "LONGHAUL_")


class Upgrade:
    """A project with a release's environment, and a backend with its states."""

    def __init__(self, folder: Path, release: Release, *, pulumi: Path) -> None:
        self._folder, self._pulumi = folder, pulumi
        self.project = folder / "project"
        stacks = self.project / "stacks"
        shutil.copytree(release.stacks, stacks)
        for name in ("Pulumi.prod.yaml", "Pulumi.prod-objects.yaml"):
            (stacks / name).unlink()
        shutil.copy(REPOSITORY / "Pulumi.yaml", self.project)
        self.change("")
        plugins = REPOSITORY / "lab" / "providers" / "bin"
        kept = {key: value for key, value in os.environ.items() if not key.startswith(DROPPED)}
        self._environ = {
            **kept,
            "PATH": f"{Path(sys.executable).parent}:{plugins}:{pulumi.parent}:{os.environ['PATH']}",
            "PULUMI_HOME": str(folder / "home"),
            "PULUMI_SKIP_UPDATE_CHECK": "true",
            "KUBECONFIG": NOWHERE,
        }
        backend = folder / "backend"
        self._environ |= throwaway_backend(backend, project="longhaul", stack=LAB[0])
        for stack in LAB:
            # The release's own salt is of no use: its states hold no ciphertext.
            copy_stack_file(stacks / f"Pulumi.{stack}.yaml", self._config(stack), decrypts=False)
            checkpoint = {"stack": f"organization/longhaul/{stack}", "latest": release.state(stack)["deployment"]}
            path = backend / ".pulumi" / "stacks" / "longhaul" / f"{stack}.json"
            path.write_text(json.dumps({"version": STATE_VERSION, "checkpoint": checkpoint}), encoding="utf-8")

    def change(self, lines: str) -> None:
        """Have the program do something else first, such as change a constant."""
        source = (REPOSITORY / "stacks" / "__main__.py").read_text(encoding="utf-8")
        (self.project / "stacks" / "__main__.py").write_text(lines + source, encoding="utf-8")

    def preview(self, stack: str) -> Changes:
        """What an ``up`` would do to a stack."""
        written = self._run("preview", "--json", "--config-file", str(self._config(stack)), stack=stack)
        return read_changes([read_document(written, source=f"the preview of {stack}")])

    def _config(self, stack: str) -> Path:
        return self._folder / f"Pulumi.{stack}.yaml"

    def _run(self, *words: str, stack: str) -> str:
        done = subprocess.run(
            [str(self._pulumi), *words, "--stack", stack, "--non-interactive"],
            cwd=self.project,
            env=self._environ,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
        assert done.returncode == 0 or done.stdout.startswith("{"), done.stdout + done.stderr
        return done.stdout
