"""Roles on Azure: narrow ones, on no more than a resource group."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from longhaul.policy.declared import Declared
from longhaul.policy.resource import Resource
from longhaul.policy.rule import Fault, Rule
from longhaul.policy.values import is_unknown, sections, shown, texts

PRIVILEGED: Mapping[str, str] = {
    "8e3af657-a8ff-443c-a75c-2fe8c4bcb635": "Owner",
    "b24988ac-6180-42a0-ab88-20f7382dd24c": "Contributor",
    "18d7d88d-d35e-4fb5-a5c3-7773c20a72d9": "User Access Administrator",
    "f58310d9-a9f6-439a-9e8d-f62e7b41a168": "Role Based Access Control Administrator",
}
"""The roles over everything (learn.microsoft.com, "Azure built-in roles", Privileged)."""

_WIDE_SCOPE = re.compile(r"^/?(|subscriptions/[^/]+|providers/Microsoft\.Management/managementGroups/[^/]+)/?$", re.I)
"""The tenant, a management group or a subscription; anything longer is a resource group or less."""

_WIDE_ACTION = re.compile(r"^(\*(/.*)?|[^/*]+/\*)$")
"""``*``, ``*/read``, ``Microsoft.Compute/*``: all services, or all of one."""


def _privileged(resource: Resource, _: Declared) -> Iterator[Fault]:
    role = str(resource.inputs.get("roleDefinitionId")).rpartition("/")[2].lower()
    if role in PRIVILEGED:
        yield Fault(what=f"assigns {PRIVILEGED[role]}", write="a role of what the identity does, on what it does it to")


def _scope(resource: Resource, _: Declared) -> Iterator[Fault]:
    scope = resource.inputs.get("scope")
    if scope is None or (not is_unknown(scope) and _WIDE_SCOPE.match(str(scope))):
        yield Fault(what=f"scope is {shown(scope)}", write="the resource group, or the resource in it")


def _definition(resource: Resource, _: Declared) -> Iterator[Fault]:
    for place, permission in sections(resource.inputs, "permissions"):
        for key in ("actions", "dataActions"):
            for action in texts(permission, key):
                if _WIDE_ACTION.match(action):
                    yield Fault(what=f"{place}.{key}: {action}", write="the operations that are called, by their names")


_ASSIGNMENT = "azure-native:authorization:RoleAssignment"

RULES = (
    Rule(
        id="azure-privileged-role",
        reason="No identity that the program makes holds a role over everything, or one that hands out roles.",
        source="CIS Azure v4.0.0, 6.3.3 and 6.3.4",
        kinds=frozenset({_ASSIGNMENT}),
        look=_privileged,
    ),
    Rule(
        id="azure-scope",
        reason="A role is assigned on a resource group or less: a subscription holds what is not the environment's.",
        source="learn.microsoft.com, Best practices for Azure RBAC, Only grant the access users need",
        kinds=frozenset({_ASSIGNMENT}),
        look=_scope,
    ),
    Rule(
        id="azure-actions",
        reason="A role of our own names its operations: neither `*` nor all of a provider, which grows with it.",
        source="CIS Azure v4.0.0, 6.23",
        kinds=frozenset({"azure-native:authorization:RoleDefinition"}),
        look=_definition,
    ),
)
