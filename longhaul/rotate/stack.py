"""The environment's stack in a rotation: the engine runs on some resources, which read the vault again."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from longhaul.engine import plugins
from longhaul.engine.change import change_with_pending, exit_code
from longhaul.engine.engine import Engine, engine_for
from longhaul.engine.recovery import recover
from longhaul.project.context import Context
from longhaul.terminal.exits import CommandError
from longhaul.terminal.output import Output
from longhaul.terminal.progress import Progress

if TYPE_CHECKING:
    from components.model import Environment

TARGETED = ("--yes", "--skip-preview", "--suppress-outputs")
"""The engine's options for a run that changes only named resources."""

AGAIN = "Run this again: it continues from here"


@dataclass(frozen=True, kw_only=True)
class Stack:
    """The stack of an environment's infrastructure."""

    where: Context
    environment: Environment
    environ: Mapping[str, str]
    title: str
    """Name of the rotation."""
    variable: str
    """Environment variable that makes the program read the rotated secrets again."""
    log: Path
    """The run's log, which has all output of the programs."""
    began: float
    """Start of the run, by ``time.monotonic``."""

    def resources(self) -> list[Mapping[str, Any]]:
        """Return the resources of the state."""
        engine = self._engine(self.environ)
        text = engine.run_or_fail("stack", "export", doing=f"the state of {engine.stack} cannot be read")
        entries = (json.loads(text).get("deployment") or {}).get("resources") or ()
        return [entry for entry in entries if not entry.get("delete")]

    def apply(self, resources: Iterable[str], *, what: str) -> None:
        """Run the engine on some resources, with the vault's present content. Raise ``CommandError``, which names
        ``what``, when that fails."""
        engine = self._engine({**self.environ, self.variable: "yes"})
        plugins.require(plugins.site_plugins(self.environment), engine.environ, project=self.where.project)
        recover(engine)
        ran = change_with_pending(engine, "up", [*TARGETED, *_targets(resources)])
        if ran.code != 0:
            reason = "; ".join(error.message for error in ran.events.errors) or f"it ended with {ran.code}"
            raise CommandError(f"{what} could not be changed: {reason}. {AGAIN}; {self.log}", code=exit_code(ran))

    def is_as_declared(self, resources: Iterable[str]) -> bool:
        """Return whether `longhaul up` would change none of these resources."""
        engine = self._engine(self.environ)
        plugins.require(plugins.site_plugins(self.environment), engine.environ, project=self.where.project)
        words = [*engine.argv("preview", configured=True), "--suppress-outputs", "--expect-no-changes"]
        return engine.follow([*words, *_targets(resources)]).code == 0

    def _engine(self, environ: Mapping[str, str]) -> Engine:
        progress = Progress(title=self.title, output=Output(log=self.log), began=self.began)
        return engine_for(self.where, environ, progress=progress)


def _targets(resources: Iterable[str]) -> list[str]:
    return [word for urn in resources for word in ("--target", urn)]
