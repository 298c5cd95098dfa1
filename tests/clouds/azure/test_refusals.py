"""Azure's words when it refuses machines, and the cause that they mean."""

from __future__ import annotations

import pytest

from clouds.azure.refusals import refusal_cause
from clouds.base.refusals import Cause

SKU = "SkuNotAvailable: The requested tier for resource is currently not available in this location."
FULL = "SubnetIsFull: Subnet nodes with address prefix 10.64.0.0/24 does not have enough capacity for 5 IP addresses."


@pytest.mark.parametrize(
    ("words", "spot", "cause"),
    [
        (SKU, False, Cause.CAPACITY),
        (SKU, True, Cause.SPOT),
        (FULL, False, Cause.ADDRESSES),
        (FULL, True, Cause.ADDRESSES),
        ("AllocationFailed: Allocation failed.", False, Cause.CAPACITY),
        ("QuotaExceeded: over the quota", False, Cause.QUOTA),
    ],
)
def test_a_cause_is_what_the_words_mean_for_the_machine(words: str, spot: bool, cause: Cause) -> None:
    assert refusal_cause(words, spot=spot) is cause
