"""Azure resource ids."""

from __future__ import annotations

import re
from dataclasses import dataclass

GROUP_TYPE = "Microsoft.Resources/resourceGroups"
ASSIGNMENT_TYPE = "Microsoft.Authorization/roleAssignments"


@dataclass(frozen=True, kw_only=True)
class ResourceId:
    """A parsed id. ``type`` has the casing of the id; compare it without regard to case."""

    text: str
    subscription: str
    group: str | None
    type: str | None
    """``None`` for a subscription or a bare scope."""
    names: tuple[str, ...] = ()
    """The names along the type: for a subnet, its network and itself."""
    scope: str = ""
    """For a role assignment, what it is about; otherwise the resource group's id or the subscription's."""

    @property
    def name(self) -> str:
        """The last name."""
        return self.names[-1] if self.names else ""

    @property
    def parent(self) -> str | None:
        """Id of the resource that this one is part of (a subnet's network), if it is part of one."""
        if self.type is None or len(self.names) < 2:
            return None
        return self.text.rsplit("/", 2)[0]


class InvalidIdError(ValueError):
    """The text is not a resource id."""


def parse_id(text: str) -> ResourceId:
    """Take a resource id apart.

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
    """Id of the resource group that a resource is in, as it is written in the id."""
    match = re.match(r"(?i)^(/subscriptions/[^/]+/resourceGroups/[^/]+)", resource_id)
    if not match:
        raise InvalidIdError(f"'{resource_id}' is in no resource group")
    return match.group(1)


def same(first: str, second: str) -> bool:
    """Whether two ids mean the same resource."""
    return first.strip("/").lower() == second.strip("/").lower()


def _split_providers(path: str) -> tuple[str, str, str]:
    """Cut at the last ``/providers/``: a role assignment's scope holds one of its own."""
    index = path.lower().rfind("/providers/")
    if index < 0:
        return path, "", ""
    return path[:index], "/providers/", path[index + len("/providers/") :]
