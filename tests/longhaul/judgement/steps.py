"""Previews of the lab's environment in the engine's format, built step by step."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from components.model import Environment, parse
from longhaul.judgement.changes import Changes, read_changes
from longhaul.judgement.plan import VERDICTS, Plan, PlanTerms, make_plan
from longhaul.judgement.preview_document import read_document
from tests.support.project import REPOSITORY, hybrid

VM = "azure-native:compute:VirtualMachine"
GROUP = "aws:autoscaling/group:Group"
SET = "azure-native:compute:VirtualMachineScaleSet"
TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
OWN = "pulumi-python:dynamic/longhaul:"

PARENTS = {
    VM: "longhaul:Cluster$longhaul:ControlPlane$longhaul:azure:ControlMachine",
    GROUP: "longhaul:Cluster$longhaul:aws:WorkerSite$longhaul:aws:Pool",
    TEMPLATE: "longhaul:Cluster$longhaul:aws:WorkerSite$longhaul:aws:Pool",
    SET: "longhaul:Cluster$longhaul:azure:Pool",
}
"""Parents of a type's resources in the program; for other types, the environment itself."""

Step = dict[str, Any]


def lab(change: Callable[[dict[str, Any]], None] | None = None) -> Environment:
    """Return the lab's environment after ``change``."""
    raw = hybrid("lab", supernet="10.64.0.0/12")
    if change is not None:
        change(raw)
    return parse(raw, source=REPOSITORY / "stacks" / "Pulumi.lab.yaml", stack="lab")


def step(
    op: str,
    kind: str,
    name: str,
    before: Mapping[str, Any] | None = None,
    after: Mapping[str, Any] | None = None,
    *,
    detailed: Mapping[str, str] | None = None,
    within: str | None = None,
    **state: Any,
) -> Step:
    """Return one step. ``detailed`` has the kind of diff by path, ``state`` further keys of both states."""
    parents = within or PARENTS.get(kind, "longhaul:Cluster")
    urn = f"urn:pulumi:lab::longhaul::{parents}${kind}::{name}"
    common = {"urn": urn, "custom": True, "type": kind, **state}
    old = {**common, "id": name, "inputs": dict(before or {})}
    new = {**common, "inputs": dict(after or {})}
    diffs = {path: {"kind": how, "inputDiff": True} for path, how in (detailed or {}).items()}
    return {
        "op": op,
        "urn": urn,
        **({} if op in ("create", "import") else {"oldState": old}),
        **({} if op == "delete" else {"newState": new}),
        "detailedDiff": diffs or None,
    }


def machine(op: str, name: str, *, guarded: bool = True, size: str = "Standard_L8s_v3") -> Step:
    """Return a step of a control-plane machine."""
    hooks = {"BeforeDelete": [f"{name}-keeps-quorum"]} if guarded else {}
    inputs = {"hardwareProfile": {"vmSize": size}}
    return step(op, VM, name, inputs, {"hardwareProfile": {"vmSize": "Standard_L16s_v3"}}, resourceHooks=hooks)


def stack(name: str) -> Step:
    """Return the step of a stack that stays as it is."""
    urn = f"urn:pulumi:{name}::longhaul::pulumi:pulumi:Stack::longhaul-{name}"
    state = {"urn": urn, "custom": False, "type": "pulumi:pulumi:Stack"}
    return {"op": "same", "urn": urn, "oldState": state, "newState": state}


def text(steps: Sequence[Step], *, same: int = 0, **beside: Any) -> str:
    """Return the engine's document."""
    return json.dumps({"steps": list(steps), "changeSummary": {"same": same}, **beside})


def changes(*steps: Step, same: int = 0) -> Changes:
    """Return the changes that a document of ``steps`` describes."""
    return read_changes([read_document(text(steps, same=same), source="the test")])


def judged(*steps: Step, environment: Environment | None = None, **terms: Any) -> Plan:
    """Return the plan of a document of ``steps``."""
    return make_plan(environment or lab(), changes(*steps), PlanTerms(**terms))


def said(plan: Plan) -> list[str]:
    """Return the reasons with their severity."""
    return [f"{VERDICTS[finding.severity]}: {finding.what}" for finding in plan.reasons]
