"""Readers and changers of scale sets: rolls, the node controller, the nodes themselves, and the join endpoint."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path

import pytest
from join_endpoint.azure import AzureProofs
from join_endpoint.azure_tokens import Tenant
from join_endpoint.proof import ProofQuestion
from machine import managed_identity
from machine import metadata as node_metadata
from node import proofs as node_proofs
from node.attest import ProofRequest

from clouds.azure.live_groups import AzureGroup
from clouds.azure.machine_lists import AzureMachineList
from clouds.base.errors import CloudError
from clouds.base.live_groups import Life
from contract.certificate_requests import RefusedError
from contract.documents.node_controller import NodeEnvironment, NodeSite
from contract.documents.pools import DeclaredPool
from lab.cloud.app import SUBSCRIPTION, TENANT
from tests.lab.cloud import sets
from tests.lab.cloud.conftest import GROUP, Live, running
from tests.lab.cloud.test_metadata import ask

NONCE = "0123456789"
SITE = NodeSite(
    name="weu", kind="azure", region="westeurope", subscription=SUBSCRIPTION, resource_group="lab", tenant=TENANT
)
ENVIRONMENT = NodeEnvironment(
    name="lab",
    aws_role="",
    sites={"weu": SITE},
    pools={"gpu": DeclaredPool(name="gpu", site="weu", groups=("lab-gpu",))},
    hosts={},
)


@pytest.fixture(name="live")
def _live(tmp_path: Path) -> Iterator[Live]:
    with running(tmp_path / "cloud") as found:
        yield found


@pytest.fixture(name="group")
def _group(live: Live) -> AzureGroup:
    sets.build(live, 2)
    return AzureGroup("lab-gpu", resource_group=GROUP, wait=lambda _: None)


def _from(source: str, patch: pytest.MonkeyPatch) -> None:
    """Let the node's programs ask the metadata service as the machine with this address."""

    def asked(url: str, *, headers: Mapping[str, str], method: str = "GET", **_limits: float) -> str:
        answer = ask(url.partition("/metadata")[2], source=source, headers=dict(headers))
        assert (method, answer.status_code) == ("GET", 200), answer.text
        return answer.text

    for module in (managed_identity, node_metadata, node_proofs):
        patch.setattr(module, "ask", asked)


def test_a_roll_sees_machines_and_renews_them_in_place(live: Live, group: AzureGroup) -> None:
    seen = group.look()
    assert (seen.wanted, [machine.node for machine in seen.machines]) == (2, ["lab-gpu-000000", "lab-gpu-000001"])
    assert all(machine.current and machine.life is Life.PRESENT for machine in seen.machines)
    live.make(sets.SET, sets.body(2, data=b"other"))
    later = group.look()
    assert later.target != seen.target or not any(machine.current for machine in later.machines)
    first = later.machines[0]
    generation = live.hypervisor.world.machines[0].generation
    group.remake(first)
    assert [machine.current for machine in group.look().machines] == [True, False]
    machine = live.hypervisor.world.machines[0]
    assert (machine.user_data, machine.generation != generation) == (b"other", True)


def test_a_machine_s_age_is_known(group: AzureGroup) -> None:
    first, second = group.look().machines
    (made,) = group.made_at([second]).values()
    assert timedelta() <= datetime.now(tz=UTC) - datetime.fromisoformat(made) < timedelta(hours=1)
    assert group.made_at([]) == {}
    assert f"--name lab-gpu --instance-id {first.id} " in group.console(first)


def test_a_roll_changes_the_size_and_nothing_else(live: Live, group: AzureGroup) -> None:
    before = live.arm("GET", sets.SET).json()["properties"]["virtualMachineProfile"]
    group.resize(3)
    assert (group.size(), len(sets.ids(live))) == (3, 3)
    assert live.arm("GET", sets.SET).json()["properties"]["virtualMachineProfile"] == before
    sets.limit(live, 3, "QuotaExceeded")
    with pytest.raises(CloudError, match="exceeding approved standard cores quota"):
        group.resize(4)


def test_the_node_controller_knows_machines_and_addresses(live: Live, group: AzureGroup) -> None:
    found = AzureMachineList(ENVIRONMENT, SITE).everything()
    world = {machine.name: machine for machine in live.hypervisor.world.machines}
    assert found.keys() == world.keys()
    ids = {one["properties"]["osProfile"]["computerName"]: one["properties"]["vmId"] for one in sets.listed(live)}
    for name, machine in found.items():
        assert (machine.pool, machine.addresses) == ("gpu", frozenset({str(world[name].address.ip)}))
        assert machine.identity == ids[name]


def test_a_node_learns_its_place(live: Live, group: AzureGroup, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = live.hypervisor.world.machines[1]
    _from(str(machine.address.ip), monkeypatch)
    place = node_metadata.azure("http://169.254.169.254", address=machine.address.ip)
    assert (place.name, place.zone) == ("lab-gpu-000001", "westeurope-2")
    assert place.provider_id == f"azure://{sets.SET}/virtualMachines/1"
    assert {address for pods in place.pods for address in pods} == {one.network_address for one in machine.routed}
    compute = ask("/instance/compute", source=str(machine.address.ip)).json()
    assert (compute["vmScaleSetName"], compute["name"]) == ("lab-gpu", "lab-gpu_1")


def test_a_pod_s_address_is_no_machine_s(live: Live, group: AzureGroup) -> None:
    pod = str(live.hypervisor.world.machines[0].routed[0].network_address)
    assert ask("/instance", source=pod).status_code == 404


def test_a_node_proves_itself_with_its_set_s_identity(
    live: Live, group: AzureGroup, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    address = live.hypervisor.world.machines[0].address.ip
    assert isinstance(address, IPv4Address)
    _from(str(address), monkeypatch)
    request = ProofRequest(cluster="lab", fingerprint="ab" * 32, challenge=NONCE)
    proof = node_proofs.azure(request, metadata="http://169.254.169.254")
    proofs = AzureProofs(roots=live.state / "ca" / "ca.pem", tenant=Tenant)
    question = ProofQuestion(environment=ENVIRONMENT, fingerprint="ab" * 32, challenge=NONCE)
    attested = proofs.attested(proof, question)
    assert (attested.site, attested.machine) == ("weu", sets.listed(live)[0]["properties"]["vmId"])
    foreign = NodeEnvironment(
        name="lab",
        aws_role="",
        sites={"weu": SITE},
        hosts={},
        pools={"a": DeclaredPool(name="a", site="weu", groups=("lab-a",))},
    )
    with pytest.raises(RefusedError, match="the token is of no scale set"):
        proofs.attested(proof, ProofQuestion(environment=foreign, fingerprint="ab" * 32, challenge=NONCE))


def test_a_role_can_be_given_to_a_set_s_identity(live: Live, group: AzureGroup) -> None:
    principal = live.arm("GET", sets.SET).json()["identity"]["principalId"]
    roles = f"/subscriptions/{SUBSCRIPTION}/providers/Microsoft.Authorization/roleDefinitions"
    live.make(
        f"{GROUP}/providers/Microsoft.Authorization/roleAssignments/11111111-1111-4111-8111-111111111112",
        {
            "properties": {
                "principalId": principal,
                "principalType": "ServicePrincipal",
                "roleDefinitionId": f"{roles}/acdd72a7-3385-48ef-bd42-f606fba81ae7",
            }
        },
    )
