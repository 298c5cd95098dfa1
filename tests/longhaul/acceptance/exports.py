"""A stand-in engine that exports the state that a test gives it, and does nothing else."""

from __future__ import annotations

import json
from typing import Any

from tests.longhaul.conftest import FakeEngine

SCRIPT = """#!/bin/sh
# An engine that knows `stack export` alone; its words are noted.
echo "$*" >> "$FAKE_ENGINE/exports"
[ "$1 $2" = "stack export" ] || exit 1
while [ "$1" != --stack ]; do shift; done
cat "$FAKE_ENGINE/$2.json"
"""


def exports(engine: FakeEngine) -> None:
    """Replace the engine's program by that one."""
    (engine.folder / "pulumi").write_text(SCRIPT)


def holds(engine: FakeEngine, stack: str, **deployment: Any) -> str:
    """Create the stack with this deployment, and return the text that it exports."""
    engine.has_stack(stack)
    text = json.dumps({"version": 3, "deployment": deployment})
    (engine.folder / f"{stack}.json").write_text(text)
    return text
