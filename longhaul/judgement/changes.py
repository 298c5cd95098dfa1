"""Reads from previews what happens to each resource."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from longhaul.judgement.preview_document import PreviewDocument, PreviewStep
from longhaul.terminal.exits import CommandError, Exit


class ResourceAction(StrEnum):
    """Effect of a change on a resource."""

    MAKE = "make"
    ADOPT = "adopt"
    """The resource exists; the engine takes it over."""
    CHANGE = "change"
    REPLACE = "replace"
    DESTROY = "destroy"
    FORGET = "forget"
    """The resource continues to exist; the engine no longer manages it."""
    CLEAR = "clear"
    """The engine deletes the leftovers of an earlier replacement."""
    NONE = "none"


_OPS: Mapping[str, ResourceAction] = {
    "same": ResourceAction.NONE,
    "create": ResourceAction.MAKE,
    "update": ResourceAction.CHANGE,
    "delete": ResourceAction.DESTROY,
    "replace": ResourceAction.REPLACE,
    "create-replacement": ResourceAction.REPLACE,
    "delete-replaced": ResourceAction.CLEAR,
    "read": ResourceAction.NONE,
    "read-replacement": ResourceAction.FORGET,
    "refresh": ResourceAction.NONE,
    "discard": ResourceAction.FORGET,
    "discard-replaced": ResourceAction.FORGET,
    "remove-pending-replace": ResourceAction.NONE,
    "import": ResourceAction.ADOPT,
    "import-replacement": ResourceAction.REPLACE,
}
"""All operations of the engine (pulumi v3.250.0, ``sdk/go/common/apitype/history.go``, ``OpType``)."""

_WEIGHT = {
    action: weight
    for weight, action in enumerate(
        (
            ResourceAction.NONE,
            ResourceAction.CLEAR,
            ResourceAction.FORGET,
            ResourceAction.ADOPT,
            ResourceAction.MAKE,
            ResourceAction.CHANGE,
            ResourceAction.DESTROY,
            ResourceAction.REPLACE,
        )
    )
}
"""Rank of each action. Several steps can concern one resource, such as the halves of a replacement; the action with the
highest rank is reported."""


@dataclass(frozen=True, kw_only=True)
class Change:
    """Effect on one resource."""

    urn: str
    action: ResourceAction
    before: Mapping[str, Any]
    """Inputs of the resource before the change; empty when the resource is new."""
    after: Mapping[str, Any]
    """Inputs of the resource after the change; empty when the resource is removed."""
    outputs: Mapping[str, Any]
    """Outputs of the resource in the state before the change."""
    new_outputs: Mapping[str, Any]
    """Outputs of the resource after the change; with ``--refresh``, as the cloud reports them."""
    custom: bool
    """True when a provider makes the resource. A component only groups other resources."""
    guarded: bool
    """True when a hook of the engine runs before the resource is deleted
    (``components/control_plane/replacement.py``)."""
    differing: Mapping[str, bool]
    """Paths that the provider reports as different; True when the difference forces a new resource."""

    @property
    def type(self) -> str:
        """Return the resource's type, such as ``azure-native:network:Subnet``."""
        return self.kinship[-1]

    @property
    def stack(self) -> str:
        """Return the name of the resource's stack (``urn:pulumi:STACK::…``)."""
        return self.urn.split("::", 1)[0].rpartition(":")[2]

    @property
    def kinship(self) -> tuple[str, ...]:
        """Return the types of the resource's parents, the outermost first, then its own type."""
        return tuple(self.urn.split("::")[2].split("$"))

    @property
    def name(self) -> str:
        """Return the resource's name in the program."""
        return self.urn.split("::", 3)[3]

    @property
    def short_type(self) -> str:
        """Return the last part of the resource's type."""
        return self.type.rsplit(":", 1)[-1]


@dataclass(frozen=True, kw_only=True)
class Changes:
    """Content of one or more previews: every resource that changes, sorted by name, and the number of unchanged
    resources."""

    changes: tuple[Change, ...]
    same: int

    def of(self, *actions: ResourceAction) -> tuple[Change, ...]:
        """Return the changes with one of the given actions."""
        return tuple(change for change in self.changes if change.action in actions)


def read_changes(documents: Iterable[PreviewDocument]) -> Changes:
    """Read the changes of one or more previews. Raise ``CommandError`` for an unknown operation or a malformed URN."""
    steps: defaultdict[str, list[tuple[ResourceAction, PreviewStep]]] = defaultdict(list)
    same = 0
    for document in documents:
        same += document.counts.get("same", 0)
        for step in document.steps:
            steps[step.urn].append((_action(step), step))
    changes = (_change(urn, of_one) for urn, of_one in steps.items())
    happening = (change for change in changes if change.action is not ResourceAction.NONE)
    return Changes(changes=tuple(sorted(happening, key=lambda change: (change.name, change.urn))), same=same)


def _action(step: PreviewStep) -> ResourceAction:
    if step.urn.count("::") < 3:
        raise CommandError(f"the preview names a resource {step.urn!r}, which is not a URN", code=Exit.USAGE)
    if step.op not in _OPS:
        raise CommandError(
            f"the engine would {step.op!r} {step.urn.split('::', 3)[3]}, an operation that this Longhaul does not "
            "know: inspect it with `longhaul plan --raw`, or use the engine's pinned version",
            code=Exit.USAGE,
        )
    action = _OPS[step.op]
    if action is ResourceAction.DESTROY and step.old is not None:
        return ResourceAction.CLEAR if step.old.delete else ResourceAction.FORGET if step.old.retain else action
    return action


def _change(urn: str, steps: list[tuple[ResourceAction, PreviewStep]]) -> Change:
    action = max((action for action, _ in steps), key=_WEIGHT.__getitem__)
    actions = {step_action for step_action, _ in steps}
    if {ResourceAction.MAKE, ResourceAction.DESTROY} <= actions:
        action = ResourceAction.REPLACE
    old = next((step.old for _, step in steps if step.old is not None), None)
    new = next((step.new for _, step in reversed(steps) if step.new is not None), None)
    gone = action in (ResourceAction.DESTROY, ResourceAction.FORGET, ResourceAction.CLEAR)
    fresh = action in (ResourceAction.MAKE, ResourceAction.ADOPT)
    known = [state for state in (old, new) if state is not None]
    return Change(
        urn=urn,
        action=action,
        before={} if old is None or fresh else old.inputs,
        after={} if new is None or gone else new.inputs,
        outputs={} if old is None else old.outputs,
        new_outputs={} if new is None else new.outputs,
        custom=any(state.custom for state in known),
        guarded=any(state.hooks.get("BeforeDelete") for state in known),
        differing=_differing(step for _, step in steps),
    )


def _differing(steps: Iterable[PreviewStep]) -> dict[str, bool]:
    """Return the paths in the provider's detailed diff, and the keys that are given as reasons but have no such path.
    The value is True when the difference forces a new resource."""
    differing: dict[str, bool] = {}
    for step in steps:
        for path, diff in (step.detailed or {}).items():
            differing[path] = differing.get(path, False) or diff.replaces
        for key in (*step.diff_reasons, *step.replace_reasons):
            if not any(path == key or path.startswith((f"{key}.", f"{key}[")) for path in differing):
                differing[key] = key in step.replace_reasons
    return differing
