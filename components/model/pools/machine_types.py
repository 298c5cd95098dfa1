"""Machine types: the built-in ones, and the model of those that an environment declares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from clouds.base.machine_types import MachineProperties
from clouds.registry import clouds

if TYPE_CHECKING:
    CloudKind = str
else:
    CloudKind = Literal[tuple(kind for kind, cloud in clouds().items() if cloud.rents)]


class MachineType(MachineProperties):
    """Properties of one machine of a type."""

    cloud: CloudKind
    """Cloud that offers the type."""


def known_machine_types() -> dict[str, MachineProperties]:
    """Return every built-in type by the name that its cloud gives it."""
    return {name: kind for cloud in clouds().values() for name, kind in cloud.machine_types.known().items()}
