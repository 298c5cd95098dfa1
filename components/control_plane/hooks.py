"""Hooks of every machine of a control plane, in one place: a program that only destroys declares nothing else."""

from __future__ import annotations

from pulumi import ResourceHookBinding

from components.control_plane.guard import guards
from components.control_plane.learner import learner_guard
from components.model import AddressPlan, Environment


def machine_hooks(environment: Environment, addresses: AddressPlan) -> dict[str, ResourceHookBinding]:
    """Return the hooks of every machine that an environment may have or have had, by its name."""
    return guards(environment, addresses) | learner_guard(environment, addresses)
