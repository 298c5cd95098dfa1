"""Resources that a killed run was creating.

The engine keeps each of them as a pending operation until that operation is cleared, and every later run tries to
create the resource again. A provider may refuse to create an existing resource ("cannot create already existing
resource", azure-native). Only that message contains the resource's id.

Pending resources are also stored in a file of this program until a run succeeds: adoption imports a state, and an
import drops the engine's own list.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from longhaul.engine.engine import Engine
from longhaul.engine.events import EngineDiagnostic
from longhaul.terminal.exits import CommandError
from longhaul.terminal.say import say

EXISTS = re.compile(r"cannot create already existing (?:sub)?resource [\"'](?P<id>[^\"']+)[\"']")
"""Pattern of the provider's message that the resource exists: pulumi-azure-native, ``provider/pkg/azure/client.go`` and
``provider/pkg/provider/provider.go``."""

Resource = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Pending:
    """A resource whose creation has not finished."""

    urn: str
    resource: Resource = field(compare=False, repr=False)
    """The resource in the engine's state."""

    @property
    def kind(self) -> str:
        """Return the resource's type, such as ``azure-native:compute:VirtualMachine``."""
        return self.urn.split("::")[2].split("$")[-1]

    @property
    def name(self) -> str:
        """Return the resource's name in the program."""
        return self.urn.split("::", 3)[3]

    def __str__(self) -> str:
        return f"{self.name} ({self.kind})"


def pending_creates(engine: Engine) -> tuple[Pending, ...]:
    """Return the resources that dead runs were creating: the resources in the state, and the resources that earlier
    runs stored."""
    operations = stack_state(engine).get("pending_operations") or []
    resources = [operation["resource"] for operation in operations if operation.get("type") == "creating"]
    by_urn = {str(resource["urn"]): resource for resource in (*_remembered(engine), *resources)}
    return tuple(Pending(urn=urn, resource=resource) for urn, resource in by_urn.items())


def remember(engine: Engine, pending: Iterable[Pending]) -> None:
    """Store ``pending`` until :func:`forget`. The file contains only what is in the state; its secrets stay
    encrypted."""
    path = _memory(engine)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(f".{os.getpid()}")
    with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        json.dump([creation.resource for creation in pending], file)
    temporary.replace(path)


def forget(engine: Engine) -> None:
    """Clear the engine's pending operations and this program's file, after everything was created."""
    if stack_state(engine).get("pending_operations"):
        _rewrite(engine, {})
    _memory(engine).unlink(missing_ok=True)


def existing_resources(errors: Iterable[EngineDiagnostic], pending: Iterable[Pending]) -> dict[Pending, str]:
    """Return the resources of ``pending`` that already exist according to the engine's errors, with their ids."""
    by_urn = {creation.urn: creation for creation in pending}
    ids: dict[Pending, str] = {}
    for error in errors:
        match = EXISTS.search(error.message)
        creation = by_urn.get(error.urn)
        if match and creation:
            ids[creation] = match["id"]
    return ids


def adopt(engine: Engine, ids: Mapping[Pending, str]) -> None:
    """Add existing resources to the state, with the inputs of their creation."""
    for creation, identity in ids.items():
        say(f"adopting a resource of the killed run: {creation}, {identity}")
    _rewrite(engine, ids)


def read_adopted(engine: Engine, pending: Iterable[Pending]) -> None:
    """Refresh, from the cloud, the resources of ``pending`` that are in the state: their outputs may be guesses."""
    known = {str(resource["urn"]) for resource in stack_state(engine).get("resources") or []}
    adopted = [creation for creation in pending if creation.urn in known]
    if not adopted:
        return
    targets = [word for creation in adopted for word in ("--target", creation.urn)]
    argv = [*engine.argv("refresh", configured=True), "--yes", "--skip-preview", *targets]
    if engine.run(argv).code != 0:
        named = ", ".join(str(creation) for creation in adopted)
        raise CommandError(f"{named}: it is in the cloud, but cannot be read; the next `longhaul up` tries again")
    _restore_inputs(engine, adopted)


def _restore_inputs(engine: Engine, adopted: Iterable[Pending]) -> None:
    """Restore the inputs of the resources' creation. A refresh removes properties that the cloud never returns (a
    machine's custom data) from the inputs, and the next run would replace the machine because these inputs are
    missing."""
    made_with = {creation.urn: creation.resource.get("inputs", {}) for creation in adopted}

    def restore(deployment: dict[str, Any]) -> None:
        for resource in deployment.get("resources") or []:
            if resource["urn"] in made_with:
                resource["inputs"] = made_with[resource["urn"]]

    _edit(engine, restore)


def _rewrite(engine: Engine, ids: Mapping[Pending, str]) -> None:
    """Add the creations in ``ids`` to the state, and drop its pending operations, as every import does
    (``cmd/pulumi/stack/io.go``)."""

    def settle(deployment: dict[str, Any]) -> None:
        deployment["pending_operations"] = []
        added = [_as_made(creation, identity) for creation, identity in ids.items()]
        deployment["resources"] = [*(deployment.get("resources") or []), *added]

    _edit(engine, settle)


def _edit(engine: Engine, change: Callable[[dict[str, Any]], None]) -> None:
    """Export the state, change it, and import it again."""
    doing = f"the interrupted operations of {engine.stack} cannot be settled"
    with tempfile.TemporaryDirectory(prefix="longhaul-") as folder:
        path = Path(folder) / "state.json"
        engine.run_or_fail("stack", "export", "--file", str(path), doing=doing)
        content = json.loads(path.read_text(encoding="utf-8"))
        change(content["deployment"])
        path.write_text(json.dumps(content), encoding="utf-8")
        engine.run_or_fail("stack", "import", "--file", str(path), doing=doing)


def _as_made(creation: Pending, identity: str) -> Resource:
    """Return the resource with its inputs as outputs; most providers begin a refresh from the outputs."""
    return {**creation.resource, "id": identity, "outputs": creation.resource.get("inputs", {})}


def stack_state(engine: Engine) -> dict[str, Any]:
    """Return the stack's state from any backend; empty when there is none."""
    state = engine.backend.state(engine.name, engine.stack)
    if state is not None:
        return state
    done = engine.ask("stack", "export")
    try:
        deployment = json.loads(done.stdout).get("deployment")
    except (ValueError, AttributeError):
        return {}
    return deployment if isinstance(deployment, dict) else {}


def _memory(engine: Engine) -> Path:
    return engine.records.path.with_suffix(".pending")


def _remembered(engine: Engine) -> list[Resource]:
    try:
        content = json.loads(_memory(engine).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    return [resource for resource in content if isinstance(resource, dict) and "urn" in resource]
