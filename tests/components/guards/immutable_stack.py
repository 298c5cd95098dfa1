"""A stack of ``immutable_program.py`` on the real engine."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from longhaul.engine.location import engine_environment
from tests.components.guards.immutable_program import ENVIRONMENT, PARTS
from tests.support.engine import QUICK_PIP, engine_home, printed, resources
from tests.support.project import REPOSITORY, hybrid


class Stack:
    """A project with one stack."""

    def __init__(self, folder: Path, pulumi: Path) -> None:
        self._folder, self._pulumi, self._home = folder, pulumi, engine_home(folder)
        (folder / "Pulumi.yaml").write_text("name: longhaul\nruntime: python\n")
        (folder / "__main__.py").write_text("from tests.components.guards.immutable_program import main\n\nmain()\n")
        self.environment = hybrid("dev", supernet="10.64.0.0/12")
        sites = self.environment["sites"]
        sites["usw2"] = {**sites["use1"], "region": "us-west-2"}
        del sites["rack"], self.environment["pools"], self.environment["bare_metal"]
        self.write(self.environment)
        self.run("stack", "init", "dev")

    def write(self, raw: dict[str, Any]) -> None:
        (self._folder / ENVIRONMENT).write_text(json.dumps(raw))

    def run(self, *words: str, fails: bool = False, parts: str = "guards secret", **more: str) -> str:
        """Run ``pulumi`` and return what it printed; ``more`` are variables."""
        kept = {key: value for key, value in os.environ.items() if not key.startswith("PULUMI_")}
        environ = {
            **kept,
            **self._home,
            "LONGHAUL_PULUMI": str(self._pulumi),
            "PULUMI_BACKEND_URL": f"file://{self._folder}",
            "PULUMI_CONFIG_PASSPHRASE": "lab",
            "PYTHONPATH": f"{REPOSITORY}:{QUICK_PIP}",
            PARTS: parts,
            **more,
        }
        return printed(
            [str(self._pulumi), *words, "--color", "never", "--non-interactive"],
            cwd=self._folder,
            environ=engine_environment(environ),
            fails=fails,
        )

    def up(
        self, raw: dict[str, Any] | None = None, *, fails: bool = False, parts: str = "guards secret", **more: str
    ) -> str:
        self.write(self.environment if raw is None else raw)
        return self.run("up", "--yes", "--skip-preview", fails=fails, parts=parts, **more)

    def without(self, site: str) -> dict[str, Any]:
        """Return the environment without a site."""
        copy: dict[str, Any] = json.loads(json.dumps(self.environment))
        del copy["sites"][site]
        return copy

    def resources(self) -> list[dict[str, Any]]:
        return resources(self._folder, "dev")

    def inputs(self) -> dict[str, Any]:
        """Return the inputs of each resource, by its URN and the time when it was made."""
        return {f"{one['urn']} {one['created']}": one.get("inputs") for one in self.resources()}

    def names(self) -> set[str]:
        return {one["urn"].rpartition("::")[2] for one in self.resources()}

    def urn(self, name: str) -> str:
        (found,) = [str(one["urn"]) for one in self.resources() if one["urn"].endswith(f"::{name}")]
        return found

    def ranges(self) -> dict[str, str]:
        """Return the range of each site's network."""
        networks = [one["inputs"] for one in self.resources() if one["type"].endswith(":Network")]
        return {inputs["tags"]["longhaul-site"]: inputs["range"] for inputs in networks}
