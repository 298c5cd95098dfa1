"""Errors of Azure, and which of them may pass."""

from __future__ import annotations

import pytest
from azure.core.exceptions import ClientAuthenticationError, ServiceRequestError

from clouds.azure.errors import AzureError, azure_errors


def test_a_client_that_reached_nobody_may_try_again() -> None:
    with (
        pytest.raises(AzureError, match="the secret a: no answer: ServiceRequestError") as raised,
        azure_errors("the secret a"),
    ):
        raise ServiceRequestError("Name or service not known")
    assert (raised.value.status, raised.value.passing, raised.value.answered) == (0, True, False)


@pytest.mark.parametrize(
    ("attempt", "reason"),
    [
        ("authentication unavailable. Environment variables are not fully configured.", "works. Sign"),
        ("Authentication failed: AADSTS7000215: Invalid client secret.", "AADSTS7000215: Invalid client secret. Sign"),
    ],
)
def test_of_the_sdk_s_attempts_the_one_that_entra_refused_is_told(attempt: str, reason: str) -> None:
    first = "DefaultAzureCredential failed to retrieve a token from the included credentials."
    message = f"{first}\nAttempted credentials:\n\tEnvironmentCredential: {attempt}\n\tAzureCliCredential: not found"
    with pytest.raises(AzureError) as raised, azure_errors("the secret a"):
        raise ClientAuthenticationError(message)
    assert reason in str(raised.value)
    assert "DefaultAzureCredential" not in str(raised.value)


@pytest.mark.parametrize(("status", "passing"), [(0, True), (409, True), (429, True), (503, True), (403, False)])
def test_what_may_pass(status: int, passing: bool) -> None:
    assert AzureError("no", status=status).passing is passing


@pytest.mark.parametrize(
    ("code", "said", "passing"),
    [
        ("OperationNotAllowed", "Operation results in exceeding quota limits of Core. Maximum allowed: 4", False),
        ("QuotaExceeded", "It exceeds the approved limit.", False),
        ("SkuNotAvailable", "The requested size is currently not available in location 'westeurope'.", False),
        ("AllocationFailed", "We do not have what was asked for.", False),
        ("OverconstrainedZonalAllocationRequest", "The condition is too restrictive.", False),
        ("OperationNotAllowed", "Another operation on 'prod-a10g-spot' is in progress.", True),
        ("Conflict", "A change of /subscriptions/s/resourceGroups/spot/x/capacity is under way.", True),
        ("Conflict", "The request failed due to conflict with a concurrent request.", True),
    ],
)
def test_a_409_that_refuses_machines_does_not_pass(code: str, said: str, passing: bool) -> None:
    assert AzureError("no", status=409, code=code, cloud_message=said).passing is passing
