"""State that the engine keeps of an environment, in any backend."""

from __future__ import annotations

import json
from collections.abc import Mapping

from longhaul.engine.engine import Engine, engine_for
from longhaul.engine.events import STACK
from longhaul.project.context import Context


class Stacks:
    """Both stacks of an environment."""

    def __init__(self, where: Context, environ: Mapping[str, str]) -> None:
        self._where, self._environ = where, environ

    def exported(self) -> dict[str, str]:
        """Return the state of each existing stack by name, with its secrets decrypted."""
        return {
            engine.stack: engine.run_or_fail(
                "stack", "export", "--show-secrets", doing=f"the state of {engine.stack} cannot be read"
            )
            for engine in self._there()
        }

    def count_resources(self) -> dict[str, int]:
        """Return the number of resources by stack, without empty stacks. Resources whose creation is pending are
        counted."""
        counts = {}
        for engine in self._there():
            text = engine.run_or_fail("stack", "export", doing=f"the state of {engine.stack} cannot be read")
            deployment = json.loads(text).get("deployment") or {}
            resources = [resource for resource in deployment.get("resources") or () if resource["type"] != STACK]
            counts[engine.stack] = len(resources) + len(deployment.get("pending_operations") or ())
        return {stack: count for stack, count in counts.items() if count}

    def _there(self) -> list[Engine]:
        engines = (engine_for(self._where, self._environ, objects=objects) for objects in (False, True))
        return [engine for engine in engines if not engine.is_new()]
