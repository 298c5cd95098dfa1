"""Limits how many machines of a size scale sets may have, and chooses the error of requests beyond the limit.

``QuotaExceeded`` and ``OperationNotAllowed`` are answered before anything is made
(learn.microsoft.com/azure/azure-resource-manager/troubleshooting/error-resource-quota). The others leave instances that
failed (learn.microsoft.com/troubleshoot/azure/virtual-machines/windows/allocation-failure; kubernetes/autoscaler,
azure_scale_set_instance_cache.go: such an instance stays in its set until somebody deletes it; of spot machines:
learn.microsoft.com/azure/virtual-machines/error-codes-spot).
"""

from __future__ import annotations

from typing import Any

from lab.cloud.azure.errors import ArmError
from lab.cloud.azure.schema.base import Put
from lab.cloud.azure.schema.scale_set_instance import INSTANCE
from lab.cloud.azure.sizes import known_sizes
from lab.cloud.store import DocumentStore

KIND = "scale-set-limit"
QUOTAS = ("QuotaExceeded", "OperationNotAllowed")
MESSAGES = {
    "AllocationFailed": "Allocation failed. We do not have sufficient capacity for the requested VM size in this "
    "region. Read more about improving likelihood of allocation success at https://aka.ms/allocation-guidance",
    "ZonalAllocationFailed": "Allocation failed. We do not have sufficient capacity for the requested VM size in this "
    "zone. Read more about improving likelihood of allocation success at https://aka.ms/allocation-guidance",
    "OverconstrainedAllocationRequest": "Allocation failed. VM(s) with the following constraints cannot be allocated, "
    "because the condition is too restrictive. Please remove some constraints and try again. Constraints applied are: "
    "VM Size",
    "SkuNotAvailable": "The requested tier for resource is currently not available in this location for this "
    "subscription. Try another tier or deploy to a different location.",
}
"""Messages of allocations by their error's code."""


def set_limit(store: DocumentStore, size: str, count: int | None, *, code: str = "AllocationFailed") -> None:
    """Let scale sets have at most ``count`` machines of a size, and answer ``code`` to requests beyond the limit. A
    ``count`` of None removes the limit.

    Raises:
        ValueError: the lab does not have the error.
    """
    if code not in (*QUOTAS, *MESSAGES):
        raise ValueError(f"{code}: choose one of {', '.join((*QUOTAS, *MESSAGES))}")
    store.set_record(KIND, size.lower(), None if count is None else {"count": count, "code": code})


def check_quota(put: Put, missing: int) -> None:
    """Refuse a set that needs more new machines than the quota of its size allows."""
    size = put.body["sku"]["name"]
    limit = _limit(put.store, size)
    if limit is None or limit["code"] not in QUOTAS:
        return
    cores, used = known_sizes()[size].vcpus, _used(put.store, size)
    if used + missing > limit["count"]:
        raise ArmError(
            409,
            limit["code"],
            "Operation could not be completed as it results in exceeding approved standard cores quota. Additional "
            f"details - Deployment Model: Resource Manager, Location: {put.body['location']}, Current Limit: "
            f"{limit['count'] * cores}, Current Usage: {used * cores}, Additional Required: {missing * cores}.",
        )


def not_allocated(store: DocumentStore, size: str, *, room: bool = True) -> ArmError | None:
    """Return the error for one more machine of a size; None when there is capacity for it. ``room`` says whether the
    lab's host has room."""
    limit = _limit(store, size)
    if not room:
        return ArmError(409, "AllocationFailed", MESSAGES["AllocationFailed"])
    if limit is None or limit["code"] in QUOTAS or _used(store, size) < limit["count"]:
        return None
    return ArmError(409, limit["code"], MESSAGES[limit["code"]])


def _limit(store: DocumentStore, size: str) -> dict[str, Any] | None:
    limit: dict[str, Any] | None = store.record(KIND, size.lower())
    return limit


def _used(store: DocumentStore, size: str) -> int:
    instances = store.of_type(INSTANCE)
    return sum(
        instance.body["sku"]["name"] == size and not instance.hidden.get("unallocated") for instance in instances
    )
