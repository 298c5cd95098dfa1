"""Types of the program's resources in a cloud, for the plan and for previews."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clouds.base.kinds import Lasting, ResourceKind


class ResourceTypes:
    """Types of the program's resources in a cloud. There are none by default."""

    def kinds(self) -> Mapping[str, ResourceKind]:
        """Return the kind of each resource type. The plan treats any other type as ``ResourceKind.OTHER``."""
        return {}

    def ranges(self) -> Mapping[str, tuple[str, ...]]:
        """Return, for each resource type, the dotted paths of the properties that hold its ranges. Types of whole
        networks come first."""
        return {}

    def lasting(self) -> Mapping[str, Lasting]:
        """Return the types whose resources are not deleted while the environment is in use. A resource that goes with
        its site has the site's tag."""
        return {}

    def sealed(self) -> tuple[str, ...]:
        """Return the types that a search for drift leaves out: to read one is to read a tunnel's key, which its role
        forbids."""
        return ()

    def rules(self, type_: str, inputs: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the security rules of a resource, a line each: direction, ports, ranges. Empty for another type."""
        return ()
