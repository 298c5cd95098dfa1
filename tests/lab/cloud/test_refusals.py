"""Machines that a scale set could not be given, read from the lab's Azure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from clouds.azure.live_groups import AzureGroup
from clouds.azure.scale_set_documents import refusal_of
from clouds.base.errors import CloudError
from clouds.base.refusals import Cause
from lab.desired import MachineState
from tests.lab.cloud import sets
from tests.lab.cloud.aws.site import until
from tests.lab.cloud.conftest import GROUP, Live
from tests.lab.cloud.operator import Operator


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        ("AllocationFailed", Cause.CAPACITY),
        ("ZonalAllocationFailed", Cause.CAPACITY),
        ("OverconstrainedAllocationRequest", Cause.CAPACITY),
        ("SkuNotAvailable", Cause.CAPACITY),
    ],
)
def test_a_machine_that_was_not_allocated_says_why(live: Live, error: str, cause: Cause) -> None:
    sets.build(live, 1)
    group = AzureGroup("lab-gpu", resource_group=GROUP, session=Operator(live))
    assert group.refusals() == ()
    sets.limit(live, 1, error)
    sets.scale(live, 3)
    found = group.refusals()
    assert [(one.machine, one.cause) for one in found] == [("1", cause), ("2", cause)]
    assert all(one.words.startswith(f"{error}: ") for one in found)
    assert all(abs(datetime.now(UTC) - one.at) < timedelta(minutes=5) for one in found)
    sets.act(live, "delete", "1", "2")
    assert (sets.capacity(live), group.refusals()) == (1, ())


@pytest.mark.parametrize("error", ["QuotaExceeded", "OperationNotAllowed"])
def test_a_size_beyond_the_quota_is_refused_at_once_and_for_good(live: Live, error: str) -> None:
    sets.build(live, 1)
    sets.limit(live, 1, error)
    group = AzureGroup("lab-gpu", resource_group=GROUP, session=Operator(live))
    with pytest.raises(CloudError, match="exceeding approved standard cores quota") as refused:
        group.resize(2)
    assert (refused.value.passing, group.size()) == (False, 1)


def test_a_set_that_somebody_else_has_changed_is_not_resized(live: Live) -> None:
    sets.build(live, 1)

    class Late(Operator):
        def request(
            self,
            method: str,
            url: str,
            *,
            body: Mapping[str, Any] | None = None,
            headers: Mapping[str, str] | None = None,
        ) -> Any:
            if method == "PATCH" and sets.capacity(live) == 1:
                sets.scale(live, 2)
            return super().request(method, url, body=body, headers=headers)

    group = AzureGroup("lab-gpu", resource_group=GROUP, session=Late(live))
    with pytest.raises(CloudError, match=r"Etag provided in if-match header .* does not match etag") as refused:
        group.resize(3)
    assert (refused.value.passing, group.size()) == (True, 2)
    group.resize(3)
    assert group.size() == 3


def test_what_is_ended_goes_and_the_set_is_smaller_by_it(live: Live) -> None:
    sets.build(live, 3)
    group = AzureGroup("lab-gpu", resource_group=GROUP, session=Operator(live))
    group.end(["0", "2"])
    assert group.size() == 1
    until(lambda: sets.ids(live) == ["1"])
    with pytest.raises(CloudError, match="is not an active Virtual Machine Scale Set VM instanceId"):
        group.end(["2"])


def test_a_machine_that_does_not_come_up_was_made_all_the_same(live: Live) -> None:
    sets.build(live, 0)
    live.hypervisor.phases["lab-gpu-000000"] = MachineState(phase="failed", reason="cloud-init: no such file")
    sets.scale(live, 1)
    assert sets.listed(live)[0]["properties"]["provisioningState"] == "Failed"
    assert AzureGroup("lab-gpu", resource_group=GROUP, session=Operator(live)).refusals() == ()


@pytest.mark.parametrize(
    ("code", "message", "cause"),
    [
        ("/QuotaExceeded", "It exceeds the approved quota.", Cause.QUOTA),
        ("/OperationNotAllowed", "It results in exceeding approved LowPriorityCores quota.", Cause.QUOTA),
        ("/SpotPriceGreaterThanProvidedMaxPrice", "The price is too low.", Cause.SPOT),
        ("/InternalOperationError", "Operation abandoned.", Cause.OTHER),
        ("", "It failed.", Cause.OTHER),
    ],
)
def test_statuses_that_the_lab_does_not_send(code: str, message: str, cause: Cause) -> None:
    status = {
        "code": f"ProvisioningState/failed{code}",
        "message": message,
        "time": "2026-03-01T12:00:00.1234567+00:00",
    }
    item = {"instanceId": "4", "properties": {"instanceView": {"statuses": [status]}}}
    refusal = refusal_of(item, spot=True)
    assert refusal is not None
    assert (refusal.cause, refusal.machine, refusal.at.hour) == (cause, "4", 12)
    assert refusal.words.endswith(message)
