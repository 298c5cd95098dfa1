"""Addresses at which the resource manager tells of an operation, and the right that reading each of them needs.

An operation's owner is polled, not the resource: each needs a right of its own (azure-docs, "Track asynchronous Azure
operations", "Permission for tracking async status"). The rights are those of azure-docs
``role-based-access-control/permissions``: ``networking.md`` ("Gets status of a Private DNS operation"), ``compute.md``,
``storage.md`` (``Microsoft.Storage/operations/read``, "Polls the status of an asynchronous operation") and
``management-and-governance.md`` (``subscriptions/operationresults``).
"""

from __future__ import annotations

import re

from lab.cloud.azure.ids import GROUP_TYPE, group_id
from lab.cloud.azure.schema import private_dns_link, private_dns_zone, storage_account
from lab.cloud.store import ResourceDocument

OPERATION = re.compile(
    r"(?i)^(?P<scope>/subscriptions/[^/]+(?:/resourceGroups/[^/]+)?)/"
    r"(?:providers/(?P<namespace>[^/]+)/(?:locations/[^/]+/)?"
    r"(?P<kind>operations|asyncoperations|privateDnsOperationStatuses|privateDnsOperationResults)"
    r"|operationresults)/(?P<id>[^/]+)$"
)
"""Path of an operation."""
PRIVATE_DNS = frozenset({private_dns_zone.TYPE, private_dns_link.TYPE})
"""Types whose operations belong to the resource group, not to a region."""


def operation_path(document: ResourceDocument, operation: str) -> str:
    """Return the path at which an operation on a resource is polled."""
    subscription = "/".join(document.id.split("/")[:3])
    if document.type == GROUP_TYPE:
        return f"{subscription}/operationresults/{operation}"
    if document.type in PRIVATE_DNS:
        return f"{group_id(document.id)}/providers/Microsoft.Network/privateDnsOperationStatuses/{operation}"
    kind = "asyncoperations" if document.type == storage_account.TYPE else "operations"
    provider, region = document.type.partition("/")[0], document.body.get("location", "global")
    return f"{subscription}/providers/{provider}/locations/{region}/{kind}/{operation}"


def polling_right(path: re.Match[str]) -> str:
    """Return the action that reading the operation at a path needs."""
    provider, kind = path["namespace"], path["kind"]
    if provider is None:
        return "Microsoft.Resources/subscriptions/operationresults/read"
    if provider.lower() == "microsoft.storage":
        return "Microsoft.Storage/operations/read"
    place = "" if kind.lower().startswith("privatedns") else "locations/"
    return f"{provider}/{place}{kind}/read"
