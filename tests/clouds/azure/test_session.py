"""Authorised requests to Azure, and when they are repeated."""

from __future__ import annotations

import pytest
from azure.core.credentials import AccessToken

from clouds.azure.errors import AzureError
from clouds.azure.session import AzureSession
from tests.support.loopback import Answering


class StaticTokenCredential:
    def get_token(self, *_scopes: str) -> AccessToken:
        return AccessToken("t", 0)


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("status", [429, 502, 503])
def test_what_azure_is_too_busy_for_is_asked_for_again(method: str, status: int) -> None:
    given = [(status, b""), (200, b'{"a": 1}')]
    with Answering(lambda _: given.pop(0)) as azure:
        session = AzureSession(azure.url, credential=StaticTokenCredential)
        assert session.request(method, f"{azure.url}/x", body={}).json() == {"a": 1}
    assert [one.method for one in azure.asked] == [method] * 2


def test_a_write_that_may_not_come_late_is_sent_once() -> None:
    with Answering(lambda _: (503, b"")) as azure, pytest.raises(AzureError) as refused:
        AzureSession(azure.url, credential=StaticTokenCredential, prompt=True).request(
            "PATCH", f"{azure.url}/x", body={}
        )
    assert refused.value.passing
    assert [one.method for one in azure.asked] == ["PATCH"]
