"""The machines of an Azure site: scale sets as the resource manager describes them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from azure.core.credentials import AccessToken

from clouds.azure.machine_lists import INTERFACES_VERSION, AzureMachineList
from clouds.azure.resource_manager import ResourceManager
from clouds.azure.session import AzureSession
from clouds.azure.versions import COMPUTE_VERSION
from clouds.base.errors import CloudError
from clouds.base.machine_lists import Presence
from contract.documents.node_controller import NodeEnvironment, NodeSite
from contract.documents.pools import DeclaredPool
from tests.support.loopback import Answering, Asked

SITE = NodeSite(name="weu", kind="azure", region="westeurope", subscription="sub", resource_group="lab-weu")
ENVIRONMENT = NodeEnvironment(
    name="lab",
    aws_role="",
    sites={"weu": SITE},
    pools={name: DeclaredPool(name=name, site="weu", groups=(f"lab-{name}",)) for name in ("a100", "h100")},
    hosts={},
)
SETS = "/subscriptions/sub/resourceGroups/lab-weu/providers/Microsoft.Compute/virtualMachineScaleSets"


class Manager:
    """Two scale sets, listed with two entries in a page."""

    def __init__(self) -> None:
        self.machines = {"lab-a100": [0, 3, 4], "lab-h100": [1]}
        self.state = "Succeeded"
        self.fail = ""
        self.url = ""

    def answer(self, asked: Asked) -> tuple[int, bytes]:
        if asked.headers.get("authorization") != "Bearer token":
            return 401, b"{}"
        group, kind = asked.path.removeprefix(f"{SETS}/").split("/")
        if kind == self.fail:
            return 429, b'{"error": {"code": "TooManyRequests"}}'
        wanted = {"virtualMachines": COMPUTE_VERSION, "networkInterfaces": INTERFACES_VERSION}
        assert asked.query["api-version"] == [wanted[kind]]
        made = [
            self.interface(group, n) if kind == "networkInterfaces" else self.machine(group, n)
            for n in self.machines[group]
        ]
        start = int(asked.query.get("$skiptoken", ["0"])[0])
        page: dict[str, Any] = {"value": made[start : start + 2]}
        if len(made) > start + 2:
            page["nextLink"] = f"{self.url}{asked.path}?api-version={wanted[kind]}&$skiptoken={start + 2}"
        return 200, json.dumps(page).encode()

    def id(self, group: str, number: int) -> str:
        return f"{SETS}/{group}/virtualMachines/{number}"

    def machine(self, group: str, number: int) -> dict[str, Any]:
        profile = {"computerName": f"{group}-00000{number}"}
        # The two services write ids in different cases.
        return {
            "id": self.id(group, number).upper(),
            "instanceId": str(number),
            # A set without zones has machines without (Compute API, "VirtualMachineScaleSetVM").
            **({"zones": [str(number % 3 + 1)]} if group == "lab-a100" else {}),
            "properties": {"osProfile": profile, "provisioningState": self.state},
        }

    def interface(self, group: str, number: int) -> dict[str, Any]:
        base = 10 + 20 * number
        own = [{"properties": {"primary": i == 0, "privateIPAddress": f"10.64.129.{base + i}"}} for i in range(17)]
        properties = {"virtualMachine": {"id": self.id(group, number)}, "primary": True, "ipConfigurations": own}
        return {"name": "primary", "properties": properties}


class Tokens:
    """A credential with one token."""

    def get_token(self, *_scopes: str, **_options: Any) -> Any:
        return AccessToken("token", 4_000_000_000)


def machines(manager: Manager, cloud: Answering, environment: NodeEnvironment = ENVIRONMENT) -> AzureMachineList:
    manager.url = cloud.url
    session = AzureSession(cloud.url, credential=Tokens, prompt=True)
    return AzureMachineList(environment, SITE, manager=ResourceManager(session, root=cloud.url))


def test_the_machines_of_every_pool_with_their_own_address() -> None:
    manager = Manager()
    with Answering(manager.answer) as cloud:
        found = machines(manager, cloud).everything()
        # Two lists for each set; one set has two pages in each of its lists.
        assert len(cloud.asked) == 4 + 2
    assert {name: (m.pool, m.addresses) for name, m in found.items()} == {
        "lab-a100-000000": ("a100", {"10.64.129.10"}),
        "lab-a100-000003": ("a100", {"10.64.129.70"}),
        "lab-a100-000004": ("a100", {"10.64.129.90"}),
        "lab-h100-000001": ("h100", {"10.64.129.30"}),
    }
    assert {m.presence for m in found.values()} == {Presence.THERE}
    assert {name: (m.zone, m.group) for name, m in found.items()} == {
        "lab-a100-000000": ("westeurope-1", "lab-a100"),
        "lab-a100-000003": ("westeurope-1", "lab-a100"),
        "lab-a100-000004": ("westeurope-2", "lab-a100"),
        "lab-h100-000001": ("westeurope", "lab-h100"),
    }


def test_a_machine_that_is_being_deleted_is_ending() -> None:
    manager = Manager()
    manager.state = "Deleting"
    with Answering(manager.answer) as cloud:
        assert {m.presence for m in machines(manager, cloud).everything().values()} == {Presence.ENDING}


def test_only_the_sets_that_it_can_be_in_are_asked_for_a_name() -> None:
    manager = Manager()
    with Answering(manager.answer) as cloud:
        assert set(machines(manager, cloud).some(["lab-h100-000001", "i-0"])) == {"lab-h100-000001"}
        assert not [asked for asked in cloud.asked if "lab-a100" in asked.path]
        assert machines(manager, cloud).some(["i-0"]) == {}


def test_a_pool_of_several_sets_has_the_machines_of_all() -> None:
    manager = Manager()
    manager.machines = {"lab-h100": [1], "lab-h100-s1": [1]}
    pools = {"h100": DeclaredPool(name="h100", site="weu", groups=("lab-h100", "lab-h100-s1"))}
    with Answering(manager.answer) as cloud:
        source = machines(manager, cloud, replace(ENVIRONMENT, pools=pools))
        found = source.everything()
        assert set(source.some(["lab-h100-s1-000001"])) == set(found)
    assert {name: machine.pool for name, machine in found.items()} == {
        "lab-h100-000001": "h100",
        "lab-h100-s1-000001": "h100",
    }


@pytest.mark.parametrize("kind", ["virtualMachines", "networkInterfaces"])
def test_a_part_that_cannot_be_had_is_an_error_and_no_shorter_list(kind: str) -> None:
    manager = Manager()
    manager.fail = kind
    with Answering(manager.answer) as cloud, pytest.raises(CloudError, match=rf"lab-a100/{kind}: TooManyRequests"):
        machines(manager, cloud).everything()


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"value": {}}', b'{"value": null}', b'{"value": [{"id": "a'])
def test_an_answer_without_a_list_is_an_error(body: bytes) -> None:
    manager = Manager()

    with Answering(lambda _: (200, body)) as cloud, pytest.raises(CloudError):
        machines(manager, cloud).everything()


@pytest.mark.parametrize("body", [b"", b"{}", b'{"value": null}'])
def test_a_second_page_that_is_none_fails_the_list(body: bytes) -> None:
    manager = Manager()

    def answer(asked: Asked) -> tuple[int, bytes]:
        return (200, body) if "$skiptoken" in asked.query else manager.answer(asked)

    with Answering(answer) as cloud, pytest.raises(CloudError):
        machines(manager, cloud).everything()


def test_the_token_goes_nowhere_else() -> None:
    manager = Manager()

    elsewhere = b'{"value": [], "nextLink": "http://127.0.0.1:1/more"}'
    with (
        Answering(lambda _: (200, elsewhere)) as cloud,
        pytest.raises(CloudError, match="next page is at another address"),
    ):
        machines(manager, cloud).everything()
