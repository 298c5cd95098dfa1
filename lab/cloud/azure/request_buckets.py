"""Limits of requests to Microsoft.Compute: buckets of tokens, for each resource, and for a subscription in a region.

Figures: MicrosoftDocs/azure-compute-docs, articles/virtual-machines/compute-throttling-limits.md, whose tables
:func:`policy_of` follows. Answers: MicrosoftDocs/SupportArticles-docs,
support/azure/virtual-machines/troubleshooting-throttling-errors.md. Names of policies: Azure/azure-cli,
test_create_flexible_vmss_with_priority_mix_policy.yaml, which records ``GetVMScaleSet``, ``CreateVMScaleSet`` and
``GetOperation``; the others are formed alike.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from lab.cloud.azure.errors import ArmError
from lab.cloud.azure.schema import virtual_machine
from lab.cloud.azure.schema.scale_set_instance import INSTANCE, TYPE

WINDOW_S = 60.0
"""Seconds between two refills of a bucket."""
REMAINING = "x-ms-ratelimit-remaining-resource"


@dataclass(frozen=True, kw_only=True)
class BucketSize:
    """Size of a bucket."""

    refill: int
    """Tokens that the bucket gains each minute."""
    capacity: int
    """Tokens in a full bucket; buckets are full at first."""


def _size(refill: int) -> BucketSize:
    """Return the size of a bucket with this refill. Every bucket in the tables holds the refill of three minutes."""
    return BucketSize(refill=refill, capacity=3 * refill)


@dataclass(frozen=True, kw_only=True)
class RequestPolicy:
    """Limits of one group of operations."""

    name: str
    resource: BucketSize | None
    """Limit for one resource; None when only the subscription's limit counts."""
    subscription: BucketSize


def _policy(name: str, resource: int, subscription: int) -> RequestPolicy:
    return RequestPolicy(name=name, resource=_size(resource) if resource else None, subscription=_size(subscription))


GET_OPERATION = _policy("GetOperation", 15, 5000)
CREATE_VM, UPDATE_VM, DELETE_VM = (_policy(f"{verb}VM", 4, 500) for verb in ("Create", "Update", "Delete"))
GET_VM, LIST_VMS = _policy("LowCostGet", 12, 8000), _policy("HighCostGet", 0, 300)
CREATE_SET, UPDATE_SET = _policy("CreateVMScaleSet", 4, 125), _policy("UpdateVMScaleSet", 4, 500)
UPDATE_SET_AT_LARGE = _policy("UpdateVMScaleSet", 0, 500)
DELETE_SET, DELETE_SET_AT_LARGE = _policy("DeleteVMScaleSet", 4, 175), _policy("DeleteVMScaleSet", 0, 175)
GET_SET = _policy("GetVMScaleSet", 12, 800)
LIST_SETS, LIST_INSTANCES = _policy("HighCostGetVMScaleSet", 0, 360), _policy("HighCostGetVMScaleSet", 10, 360)
UPDATE_INSTANCE, DELETE_INSTANCE = (_policy(f"{verb}VMScaleSetVM", 4, 500) for verb in ("Update", "Delete"))
GET_INSTANCE = _policy("GetVMScaleSetVM", 12, 2000)

LISTED = {virtual_machine.TYPE: LIST_VMS, TYPE: LIST_SETS, INSTANCE: LIST_INSTANCES}
"""Policies of lists, by the type that they list. The tables lack the list of a set's instances: the lab counts it among
the set's expensive reads, as Azure did under its former limits (microsoft/AzureTRE issue 2777)."""
WRITES = {
    virtual_machine.TYPE: {"GET": GET_VM, "PUT": CREATE_VM, "PATCH": UPDATE_VM, "DELETE": DELETE_VM},
    TYPE: {"GET": GET_SET, "PUT": CREATE_SET, "PATCH": UPDATE_SET, "DELETE": DELETE_SET},
    INSTANCE: {"GET": GET_INSTANCE, "PUT": UPDATE_INSTANCE, "PATCH": UPDATE_INSTANCE, "DELETE": DELETE_INSTANCE},
}
"""Policies of requests for one resource, by its type and the method."""
ACTIONS = {
    (virtual_machine.TYPE, "deallocate"): DELETE_VM,
    (virtual_machine.TYPE, "simulateeviction"): DELETE_VM,
    **dict.fromkeys(
        ((TYPE, action) for action in ("start", "restart", "redeploy", "performmaintenance", "reimage", "reimageall")),
        UPDATE_SET_AT_LARGE,
    ),
    (TYPE, "poweroff"): DELETE_SET_AT_LARGE,
    (TYPE, "deallocate"): DELETE_SET,
    # The tables lack it; Azure counted it so before.
    (TYPE, "delete"): DELETE_SET,
    (INSTANCE, "poweroff"): DELETE_INSTANCE,
    (INSTANCE, "deallocate"): DELETE_INSTANCE,
}
"""Policies of actions that are not updates of their resource."""


def policy_of(method: str, type: str, *, action: str = "", lists: bool = False) -> RequestPolicy | None:
    """Return the policy of a request about a resource of this type, or about a list of such resources; None when the
    resource provider is not Microsoft.Compute, or the tables have no limit."""
    known = next((name for name in WRITES if name.lower() == type.lower()), None)
    if known is None:
        return None
    if lists:
        return LISTED[known]
    if action:
        return ACTIONS.get((known, action.lower()), WRITES[known]["PATCH"])
    return WRITES[known].get(method)


@dataclass(kw_only=True)
class _Bucket:
    tokens: int
    since: float
    """Time of the last refill, seconds since the epoch."""


class RequestBuckets:
    """Buckets of one subscription. They are full when the lab's daemon starts."""

    def __init__(self, *, now: Callable[[], float]) -> None:
        """``now`` returns seconds since the epoch."""
        self._now = now
        self._buckets: dict[tuple[str, str], _Bucket] = {}
        self.requests: Counter[tuple[str, str]] = Counter()
        """Number of requests so far, by policy and resource."""
        self.refusals: Counter[tuple[str, str]] = Counter()
        """Number of refused requests so far, by policy and resource."""

    def take(self, policy: RequestPolicy, *, resource: str, region: str) -> Mapping[str, str]:
        """Take a token from each bucket of the policy, and return the header with the number of tokens left.

        Raises:
            ArmError: 429 when a bucket is empty; then no bucket loses a token.
        """
        self.requests[policy.name, resource.lower()] += 1
        now = self._now()
        sizes = {(f"{policy.name}SubscriptionMaximum", region.lower()): policy.subscription}
        if policy.resource:
            sizes[f"{policy.name}Resource", resource.lower()] = policy.resource
        buckets = {key: self._refilled(key, size, now) for key, size in sizes.items()}
        empty = next((key for key, bucket in buckets.items() if not bucket.tokens), None)
        if empty:
            self.refusals[policy.name, resource.lower()] += 1
            raise _refusal(empty[0], sizes[empty], buckets[empty], now, _remaining(buckets))
        for bucket in buckets.values():
            bucket.tokens -= 1
        return _remaining(buckets)

    def _refilled(self, key: tuple[str, str], size: BucketSize, now: float) -> _Bucket:
        bucket = self._buckets.setdefault(key, _Bucket(tokens=size.capacity, since=now))
        windows = max(0, math.floor((now - bucket.since) / WINDOW_S))
        bucket.tokens = min(size.capacity, bucket.tokens + windows * size.refill)
        bucket.since += windows * WINDOW_S
        return bucket


def _remaining(buckets: Mapping[tuple[str, str], _Bucket]) -> dict[str, str]:
    return {REMAINING: ",".join(f"Microsoft.Compute/{name};{bucket.tokens}" for (name, _), bucket in buckets.items())}


def _refusal(name: str, size: BucketSize, bucket: _Bucket, now: float, remaining: Mapping[str, str]) -> ArmError:
    ends = bucket.since + WINDOW_S
    measured = {
        "operationGroup": name,
        "startTime": datetime.fromtimestamp(bucket.since, UTC).isoformat(),
        "endTime": datetime.fromtimestamp(ends, UTC).isoformat(),
        "allowedRequestCount": size.capacity,
        "measuredRequestCount": size.capacity + 1,
    }
    return ArmError(
        429,
        "OperationNotAllowed",
        "The server rejected the request because too many requests have been received for this subscription.",
        details=[{"code": "TooManyRequests", "target": name, "message": json.dumps(measured)}],
        headers={**remaining, "Retry-After": str(max(1, math.ceil(ends - now)))},
    )
