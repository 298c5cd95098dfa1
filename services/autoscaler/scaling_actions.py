"""Decisions: what to do and why, as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from contract.documents.autoscaler_memory import DecisionMemory
from contract.reasons.autoscaler import AutoscalerReason, KeepReason, WaitReason


class Verb(StrEnum):
    """Kind of action. Each may be repeated without harm."""

    SHRINK = "shrink"
    """Set a group's size to a lower number. No machine is removed, since the missing machines were never made."""
    UNCORDON = "uncordon"
    GROW = "grow"
    """Set a group's size to a higher number."""
    CORDON = "cordon"
    DRAIN = "drain"
    """Ask the pods of a cordoned node to leave, within their disruption budgets."""
    END = "end"
    """End one machine through its group, and lower the group's size by one."""
    GRANT = "grant"
    """Tell a gang that there is room for all its members."""
    TELL = "tell"
    """Report on pods or on a gang why nothing is done for them yet."""
    HOLD = "hold"
    """Report that an action is left undone, and why."""


ORDER = {verb: index for index, verb in enumerate(Verb)}


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalingAction:
    """One action, with its reason for programs and a message for people."""

    verb: Verb
    target: str
    """Name of the action's subject: a group, a node, the first pod, a gang or a pool."""
    reason: AutoscalerReason
    message: str
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
    """Names of all pods that get the message; for a drain, of the pods that are asked to leave."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodPlacement:
    """Pods of one shape that a decision counts on a node. The decision does not bind them; the scheduler does."""

    node: str
    """Name of the node; for a node that is still to be made, the group's name with a number."""
    pods: tuple[str, ...]
    """Names of the pods; for a gang's members that are not pods yet, the gang's name with the number of their set."""
    gang: str = ""
    ending: bool = False
    """True if the pods have room only once other pods of the node, which are being ended, are gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalingDecision:
    """Result for one snapshot."""

    actions: tuple[ScalingAction, ...] = ()
    memory: DecisionMemory = field(default_factory=DecisionMemory)
    placed: tuple[PodPlacement, ...] = ()
    waits: Mapping[WaitReason, int] = field(default_factory=dict)
    """Number of pods that wait, by their reasons."""
    kept: Mapping[str, KeepReason] = field(default_factory=dict)
    """Reasons why idle nodes stay, by name."""
