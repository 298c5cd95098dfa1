"""Azure resource ids."""

from __future__ import annotations

import re
from dataclasses import dataclass

GROUP_TYPE = "Microsoft.Resources/resourceGroups"
GROUP_RIGHTS = "Microsoft.Resources/subscriptions/resourceGroups"
"""Beginning of the rights to resource groups (learn.microsoft.com, "Azure permissions for Management and
governance")."""
ASSIGNMENT_TYPE = "Microsoft.Authorization/roleAssignments"


@dataclass(frozen=True, kw_only=True)
class ResourceId:
    """A parsed id. ``type`` keeps the casing of the id; compare it without regard to case."""

    text: str
    subscription: str
    group: str | None
    type: str | None
    """Resource type; ``None`` for a subscription or a bare scope."""
    names: tuple[str, ...] = ()
    """Names along the type: for a subnet, its network's and its own."""
    scope: str = ""
    """Id to which a role assignment applies; for other resources, the id of the resource group or the subscription."""

    @property
    def name(self) -> str:
        """Last of the names; empty when there is none."""
        return self.names[-1] if self.names else ""

    @property
    def parent(self) -> str | None:
        """Id of the resource that this one is part of (for a subnet, its network); None when it is not part of one."""
        if self.type is None or len(self.names) < 2:
            return None
        return self.text.rsplit("/", 2)[0]


class InvalidIdError(ValueError):
    """Raised when a text is not a resource id."""


def parse_id(text: str) -> ResourceId:
    """Parse a resource id.

    Raises:
        InvalidIdError: it does not have the form ``/subscriptions/S[/resourceGroups/G][/providers/NS/type/name…]``.
    """
    path = "/" + text.strip("/")
    match = re.match(r"(?i)^/subscriptions/([^/]+)(?:/resourceGroups/([^/]+))?", path)
    if not match:
        raise InvalidIdError(f"'{text}' is not a resource id: it does not start with /subscriptions/<id>")
    subscription, group = match.group(1), match.group(2)
    scope, _, tail = _split_providers(path)
    if not tail:
        if path != match.group(0):
            raise InvalidIdError(f"'{text}' is not a resource id: unexpected '{path[match.end() :]}'")
        kind = GROUP_TYPE if group else None
        return ResourceId(
            text=path, subscription=subscription, group=group, type=kind, names=(group,) if group else (), scope=path
        )
    parts = tail.split("/")
    if len(parts) < 3 or len(parts) % 2 == 0 or not all(parts):
        raise InvalidIdError(f"'{text}' is not a resource id: '/providers/{tail}' does not alternate types and names")
    return ResourceId(
        text=path,
        subscription=subscription,
        group=group,
        type="/".join((parts[0], *parts[1::2])),
        names=tuple(parts[2::2]),
        scope=scope,
    )


def group_id(resource_id: str) -> str:
    """Return the id of the resource group that a resource is in, as the resource's id writes it."""
    match = re.match(r"(?i)^(/subscriptions/[^/]+/resourceGroups/[^/]+)", resource_id)
    if not match:
        raise InvalidIdError(f"'{resource_id}' is in no resource group")
    return match.group(1)


def same(first: str, second: str) -> bool:
    """Return whether two ids mean the same resource."""
    return first.strip("/").lower() == second.strip("/").lower()


def _split_providers(path: str) -> tuple[str, str, str]:
    """Cut at the last ``/providers/``: the scope of a role assignment may hold another one."""
    index = path.lower().rfind("/providers/")
    if index < 0:
        return path, "", ""
    return path[:index], "/providers/", path[index + len("/providers/") :]
