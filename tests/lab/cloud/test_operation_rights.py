"""Reading an operation needs a right of its own, which the operator's role has for each type that the program makes."""

from __future__ import annotations

from typing import Any

import pytest

from lab.cloud.app import SUBSCRIPTION
from lab.cloud.azure.operation_addresses import OPERATION, polling_right
from lab.cloud.azure.roles import OPERATOR
from tests.lab.cloud import estate
from tests.lab.cloud.conftest import GROUP, NETWORK, Live
from tests.lab.cloud.test_blobs import account
from tests.lab.cloud.test_grants import principal
from tests.lab.cloud.test_identity import body

ACCOUNT = f"{GROUP}/providers/Microsoft.Storage/storageAccounts/lhlabstore"
GLOBAL = {"location": "global"}


def _operation(live: Live, path: str, document: Any) -> str:
    """Begin a change, and return the path of its operation."""
    answer = live.arm("PUT", path, document)
    url = answer.headers.get("Azure-AsyncOperation") or answer.headers["Location"]
    return url.removeprefix("https://management.azure.com").split("?")[0]


@pytest.mark.parametrize(
    ("path", "document", "right"),
    [
        (estate.ZONE, GLOBAL, "Microsoft.Network/privateDnsOperationStatuses/read"),
        (
            f"{estate.ZONE}/virtualNetworkLinks/net",
            {**GLOBAL, "properties": {"virtualNetwork": {"id": NETWORK}}},
            "Microsoft.Network/privateDnsOperationStatuses/read",
        ),
        (f"{NETWORK}/subnets/more", estate.subnet("127.8.9.0/24"), "Microsoft.Network/locations/operations/read"),
        (
            ACCOUNT,
            account(),
            "Microsoft.Storage/operations/read",
        ),
    ],
    ids=["zone", "link", "subnet", "storage account"],
)
def test_an_operation_is_read_by_who_may_read_operations(live: Live, path: str, document: Any, right: str) -> None:
    estate.build(live, with_machine=False)
    if path.startswith(estate.ZONE):
        live.make(estate.ZONE, GLOBAL)
    operation = _operation(live, path, document)
    match = OPERATION.match(operation)
    assert match
    assert polling_right(match) == right
    who, token = principal(live, "https://management.azure.com")
    refused = live.arm("GET", operation, token=token)
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "AuthorizationFailed")
    assert f"'{right}'" in refused.json()["error"]["message"]
    scope = f"/subscriptions/{SUBSCRIPTION}"
    role = f"{scope}/providers/Microsoft.Authorization/roleAssignments/11111111-1111-4111-8111-111111111111"
    assert live.arm("PUT", role, body(OPERATOR, who)).status_code == 403, "an operator makes no other"
    assert live.arm("PUT", role, body(OPERATOR, who), token=live.owner()).status_code == 201
    assert live.arm("GET", operation, token=token).status_code == 200


def test_the_deletion_of_a_group_is_read_by_the_right_of_subscriptions(live: Live) -> None:
    live.make(GROUP, estate.WHERE)
    answer = live.arm("DELETE", GROUP)
    match = OPERATION.match(answer.headers["Location"].removeprefix("https://management.azure.com").split("?")[0])
    assert match
    assert polling_right(match) == "Microsoft.Resources/subscriptions/operationresults/read"
    live.wait(answer)
