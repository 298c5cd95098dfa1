"""POST actions on virtual machines, scale sets and their instances."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field, ValidationError

from lab.cloud.azure.commands import RunCommands
from lab.cloud.azure.errors import ArmError, invalid, unsupported
from lab.cloud.azure.machines import MachineChanges, Power
from lab.cloud.azure.render import instance_view
from lab.cloud.azure.scale_sets import ScaleSets
from lab.cloud.azure.schema import scale_set_instance, virtual_machine
from lab.cloud.azure.schema.base import BodyPart
from lab.cloud.store import DocumentStore, ResourceDocument

POWER: Mapping[str, Power] = {
    "start": "running",
    "restart": "running",
    "powerOff": "stopped",
    "deallocate": "deallocated",
}
"""Power actions, and the state that each leads to."""
OF_INSTANCES = ("reimage", "simulateeviction")
"""Actions that only instances of scale sets have, in lower case."""


class RunCommand(BodyPart):
    """The body of ``runCommand``."""

    command_id: str
    script: list[str] = Field(min_length=1)


class MachineActions:
    """Starts the actions that are requested of a machine."""

    def __init__(
        self, *, store: DocumentStore, machines: MachineChanges, scale_sets: ScaleSets, commands: RunCommands
    ) -> None:
        self._store = store
        self._machines = machines
        self._scale_sets = scale_sets
        self._commands = commands

    def start(self, document: ResourceDocument, action: str, body: Any) -> str | None:
        """Start an action and return the id of its operation; None when the action has no operation.

        Raises:
            ArmError: 400 for an action that the lab does not have, 409 when the machine cannot take it.
        """
        if document.type not in (virtual_machine.TYPE, *scale_set_instance.TYPES):
            raise unsupported(f"The lab has no action '{action}' on {document.type}.")
        if document.hidden.get("state") == "Deleting":
            raise ArmError(409, "OperationNotAllowed", f"{document.name} is being deleted.")
        instance = document.type == scale_set_instance.INSTANCE and action.lower() in OF_INSTANCES
        if document.type == scale_set_instance.TYPE or instance:
            return self._scale_sets.act(document, action, body)
        if action == "runCommand":
            return self._commands.start(document, _script(body))
        if action not in POWER:
            raise unsupported(f"The lab has no action '{action}' on virtual machines.")
        return self._machines.power(document, POWER[action], restart=action == "restart")

    def instance_view(self, document: ResourceDocument) -> dict[str, Any]:
        """Return the machine's power state and agent."""
        return instance_view(document, self._machines.state(document.id))


def _script(body: Any) -> str:
    try:
        parsed = RunCommand.model_validate(body)
    except ValidationError as problem:
        raise invalid(f"runCommand: {problem.errors(include_url=False, include_input=False)}") from problem
    if parsed.command_id != "RunShellScript":
        raise invalid(
            f"The entity was not found in this Azure location: commandId {parsed.command_id}.", target="commandId"
        )
    return "\n".join(parsed.script) + "\n"
