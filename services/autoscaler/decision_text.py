"""A decision as text, a line for each action, and as plain values for programs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from clouds.base.phrases import counted, names
from contract.reasons.autoscaler import WaitReason
from services.autoscaler.pod_demand import names_text
from services.autoscaler.scaling_actions import ScalingAction, ScalingDecision, Verb

LOOK = "if they stay so, `longhaul status` shows what they wait for"


def action_line(action: ScalingAction) -> str:
    """Return an action with its message as one line."""
    return f"{action.verb} {_what(action)}: {action.message}"


def _what(action: ScalingAction) -> str:
    match action.verb:
        case Verb.GROW | Verb.SHRINK:
            return f"{action.target} from {action.was} to {action.size}"
        case Verb.END:
            return f"{action.target} of {action.group}"
        case Verb.TELL if action.pods and action.target == action.pods[0]:
            return names_text(action.pods)
    return action.target


def to_text(decision: ScalingDecision, unread_groups: Iterable[str] = ()) -> str:
    """Return a line for each action, after the groups that could not be read."""
    lines = [f"not seen: {name}" for name in unread_groups]
    lines += map(action_line, decision.actions) if decision.actions else ["nothing to do"]
    fit = decision.waits.get(WaitReason.FITS_NODE, 0)
    if fit:
        lines.append(f"waiting: {counted(fit, 'pod')} for which a node has room, unbound by the scheduler: {LOOK}")
    idle = sorted(decision.memory.idle)
    return "\n".join([*lines, *([f"idle: {counted(len(idle), 'node')}: {names(idle)}"] if idle else [])])


def to_plain(decision: ScalingDecision, unread_groups: Iterable[str] = ()) -> dict[str, Any]:
    """Return the decision and the unread groups as plain values."""
    return {
        "not_seen": list(unread_groups),
        "actions": [action_fields(action) for action in decision.actions],
        "fitting_pods": decision.waits.get(WaitReason.FITS_NODE, 0),
        "idle": {name: decision.kept.get(name) for name in sorted(decision.memory.idle)},
    }


def action_fields(action: ScalingAction) -> dict[str, Any]:
    """Return an action as plain values."""
    entry: dict[str, Any] = {
        "action": str(action.verb),
        "target": action.target,
        "reason": str(action.reason),
        "message": action.message,
    }
    for name in ("pool", "group", "machine", "was", "size"):
        value = getattr(action, name)
        if value not in ("", None):
            entry[name] = value
    return entry | ({"pods": list(action.pods)} if action.pods else {})
