"""Outputs of the stack for the racks: the gateways' tunnels with their keys, and the cluster's authority. The engine is
asked when a playbook needs the outputs; the outputs are stored only in memory."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from longhaul.engine.engine import engine_for
from longhaul.project.context import Context
from longhaul.terminal.exits import CommandError

NEEDED = ("kubernetes_ca", "onprem_tunnels")


def stack_outputs(where: Context, environ: Mapping[str, str]) -> dict[str, Any]:
    """Return the outputs that the racks need. Raise ``CommandError`` when the stack or its outputs do not exist yet."""
    engine = engine_for(where, environ)
    first = f"`longhaul up --only infrastructure --env {where.env}` makes the networks to which the racks connect"
    if engine.has_stack() is False:
        raise CommandError(f"{where.env} has no stack in {engine.backend.url}: {first}")
    doing = f"the outputs of the stack {engine.stack} cannot be read"
    outputs = json.loads(engine.run_or_fail("stack", "output", "--json", "--show-secrets", doing=doing))
    missing = [name for name in NEEDED if name not in outputs]
    if missing:
        raise CommandError(f"the stack {engine.stack} has no {' and no '.join(missing)}: {first}")
    return {name: outputs[name] for name in NEEDED}
