"""Decisions: what to do and why, as plain values."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from contract.documents.autoscaler_memory import DecisionMemory


class Verb(StrEnum):
    """Kind of action. Each may be repeated without harm."""

    SHRINK = "shrink"
    """Set a group's size to a lower number; no machine goes, since none was made."""
    UNCORDON = "uncordon"
    GROW = "grow"
    """Set a group's size to a higher number."""
    CORDON = "cordon"
    DRAIN = "drain"
    """Ask the pods of a cordoned node to leave, within their disruption budgets."""
    END = "end"
    """End one machine through its group, and let the group be smaller by it."""
    GRANT = "grant"
    """Tell a gang that there is room for all of it."""
    TELL = "tell"
    """Say on pods, or a gang, why nothing is done for them yet."""
    HOLD = "hold"
    """Say that something is left alone which would otherwise be done."""


ORDER = {verb: index for index, verb in enumerate(Verb)}


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalingAction:
    """One action, with its reason for the log and for people."""

    verb: Verb
    target: str
    """Name of the group, the node, the first pod, the gang or the pool that it is about."""
    reason: str
    pool: str = ""
    size: int | None = None
    """New size of a group."""
    was: int | None = None
    """Size of the group before."""
    machine: str = ""
    """The cloud's id of the machine to end."""
    group: str = ""
    """Group of that machine."""
    pods: tuple[str, ...] = ()
    """Every pod that is told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """Pods of one shape that a decision counts on a node. Nobody binds them: the scheduler does."""

    node: str
    """Name of the node; of one that is still to come, the group's name with a number."""
    pods: tuple[str, ...]
    """Names of the pods; for a gang's members that are no pods yet, its name with their set's number."""
    gang: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """Answer to one snapshot."""

    actions: tuple[ScalingAction, ...] = ()
    memory: DecisionMemory = field(default_factory=DecisionMemory)
    placed: tuple[Placed, ...] = ()
