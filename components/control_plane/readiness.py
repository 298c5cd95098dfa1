"""Readiness of machines: a resource for each machine, which exists only once the machine does its work.

The machine is asked through the cloud's run command: that needs no route to the machine, only access to the cloud's
API. The resource's input is the machine's id, so the resource waits again after a replacement.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pulumi
from pulumi import ResourceOptions
from pulumi.dynamic import CreateResult, DiffResult, Resource, ResourceProvider, UpdateResult

from clouds.base.control import ControlMachines
from clouds.base.errors import CloudError
from clouds.base.polling_pauses import growing_pauses
from clouds.registry import cloud_of, machines_at
from components.control_plane.replacement import CloudMachine
from components.model import Environment
from components.model.sites.places import place_of
from contract.documents.node_answers import NodeReport, of_text, reason_of

Properties = dict[str, Any]

DEADLINE_S = 900.0
"""Largest time between a machine's creation and its readiness, seconds. A member that joins copies the whole data: 8
GiB at the 100 MB/s of a slow disk is 80 s; the rest is boot and margin."""

ASK_S = 180.0
"""Largest time of one question, seconds: Azure needs at least 20 s for a run command and runs one at a time
(learn.microsoft.com, "Run scripts in your Linux VM by using action Run Commands")."""

PAUSE_S = 2.0
"""Pause between questions, seconds: the agent runs one command at a time."""

APART_S = 15.0
"""Time between the beginnings of two questions after the first few, seconds: Azure takes 12 commands for a machine, and
4 more each minute (learn.microsoft.com, "Compute throttling limits", "Update VM")."""

WAIT_S = 60.0
"""Time that the machine itself waits before it answers that it is not ready, seconds: a command through the cloud takes
far longer than a check on the machine."""


class NotReadyError(RuntimeError):
    """Raised when a machine does not become ready in time; the message has its last answer."""


class ReadinessProvider(ResourceProvider):
    """Waits until a machine is ready."""

    serialize_as_secret_always = False

    def create(self, props: Properties) -> CreateResult:
        """Wait until the machine of ``props`` is ready."""
        return CreateResult(id_=props["machine"], outs=self._wait(props))

    def update(self, _id: str, _olds: Properties, news: Properties) -> UpdateResult:
        """Wait until the replacement is ready."""
        return UpdateResult(outs=self._wait(news))

    def diff(self, _id: str, olds: Properties, news: Properties) -> DiffResult:
        """Report a new machine as an update in place: a replacement of this resource would replace what depends on
        it."""
        changed = any(olds.get(name) != news.get(name) for name in ("machine", "machine_id"))
        return DiffResult(changes=changed, replaces=[])

    def _wait(self, props: Properties) -> Properties:
        answer = await_ready(machines_at(props), machine=props["machine"], deadline_s=float(props["deadline_s"]))
        return {**props, "cluster": answer.cluster}


def machines_of(environment: Environment) -> ControlMachines:
    """Return the machines of an environment's control plane, through their cloud. Raise ``TypeError`` when the cloud of
    the control plane's site cannot hold a control plane."""
    place = place_of(environment, environment.control_plane.site)
    control = cloud_of(place.site).control
    if control is None:
        raise TypeError(f"the control plane cannot be in {place.name}, which is {place.site.kind}")
    return control.machines_at(control.location(place))


class RoleMachines:
    """Answers to the questions of guards about a role's machines (``components/control_plane/replacement.py``)."""

    def __init__(self, machines: ControlMachines) -> None:
        self._machines = machines

    def look(self, machine: str) -> CloudMachine:
        """Return the state of a machine in the cloud."""
        view = self._machines.machine(machine)
        if view is None:
            return CloudMachine(id="", being_made=True)
        return CloudMachine(id=view.id, being_made=view.provisioning in ("Creating", "Updating"))

    def why_not_ready(self, machine: str, *, wait_s: float) -> str:
        """Wait until a machine does its work. Return an empty text when it does, and the reason when it does not within
        ``wait_s`` seconds."""
        try:
            await_ready(self._machines, machine=machine, deadline_s=wait_s)
        except NotReadyError as error:
            return str(error)
        return ""


def await_ready(machines: ControlMachines, *, machine: str, deadline_s: float) -> NodeReport:
    """Ask until ``machine`` reports that it is ready, and return its report. Raise ``NotReadyError`` after
    ``deadline_s`` seconds, or as soon as a failed check is final."""
    deadline = time.monotonic() + deadline_s
    apart = growing_pauses(PAUSE_S, APART_S)
    while True:
        began = time.monotonic()
        report = _ask(machines, machine=machine, wait_s=min(WAIT_S, deadline_s))
        if isinstance(report, NodeReport) and report.ready:
            return report
        reason = reason_of(report.checks) if isinstance(report, NodeReport) else report
        if isinstance(report, NodeReport) and any(check.final and not check.ok for check in report.checks):
            raise NotReadyError(f"{machine} will not be ready: {reason}")
        if time.monotonic() > deadline:
            raise NotReadyError(f"{machine} is not ready after {deadline_s:.0f} s: {reason}")
        time.sleep(max(PAUSE_S, next(apart) - (time.monotonic() - began)))


def _ask(machines: ControlMachines, *, machine: str, wait_s: float) -> NodeReport | str:
    """Return the machine's report, or the reason why there is none."""
    try:
        output = machines.run_command(machine, f"longhaul-node ready --wait {wait_s:.0f}", timeout_s=ASK_S)
        return of_text(NodeReport, output.stdout)
    except CloudError as error:
        return str(error)
    except ValueError:
        return f"no answer: {output.stdout or output.stderr!r}"


@dataclass(frozen=True, kw_only=True)
class ReadinessArgs:
    """Arguments of a machine's readiness."""

    location: Mapping[str, pulumi.Input[str]]
    """Plain values by which the cloud finds the machine (``ControlAccess.location``)."""
    machine: str
    machine_id: pulumi.Input[str]
    deadline_s: float = DEADLINE_S


class Readiness(Resource, module="longhaul", name="Readiness"):
    """Resource that exists once the machine is ready."""

    cluster: pulumi.Output[str]
    """Id of a member's etcd cluster, hexadecimal; empty for other machines."""

    def __init__(self, name: str, args: ReadinessArgs, opts: ResourceOptions | None = None) -> None:
        properties = {
            **args.location,
            "machine": args.machine,
            "machine_id": args.machine_id,
            "deadline_s": args.deadline_s,
            "cluster": None,
        }
        super().__init__(ReadinessProvider(), name, properties, opts)
