"""Decisions about certificates: real requests, and a judge whose surroundings a test writes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from clouds.base.errors import CloudError
from clouds.base.machine_lists import ListedMachine, Presence
from contract.certificate_requests import RefusedError, Request, parse
from contract.documents.node_controller import NodeEnvironment, NodeHost, NodeSite
from contract.documents.pools import DeclaredPool
from services.node_controller.inventory import Inventory
from services.node_controller.judge import SETTLE_S, Judge, WaitError
from services.node_controller.sources import DeclaredHosts
from tests.images import kubelets
from tests.images.kubelets import CLIENT, SERVING

NODE, ADDRESS = "i-0123456789abcdef0", "10.65.128.4"
HOST, HOST_ADDRESS = "lab-node-0", "10.66.32.10"

ENVIRONMENT = NodeEnvironment(
    name="lab",
    aws_role="arn",
    sites={"use1": NodeSite(name="use1", kind="aws", region="us-east-1"), "rack": NodeSite(name="rack", kind="onprem")},
    pools={
        "cpu": DeclaredPool(name="cpu", site="use1", groups=("lab-cpu",)),
        "gpu": DeclaredPool(name="gpu", site="use1", groups=("lab-gpu",)),
    },
    hosts={HOST: NodeHost(name=HOST, site="rack", address=HOST_ADDRESS)},
)


class Cloud:
    """A list that can fail."""

    site = "use1"

    def __init__(self, *machines: ListedMachine) -> None:
        self.machines = {machine.name: machine for machine in machines}
        self.broken = False

    def everything(self) -> Mapping[str, ListedMachine]:
        if self.broken:
            raise CloudError("DescribeInstances in us-east-1: 503 Unavailable")
        return dict(self.machines)

    def some(self, names: Iterable[str]) -> Mapping[str, ListedMachine]:
        return {name: machine for name, machine in self.everything().items() if name in names}


class JudgeWorld:
    """A judge and all of its sources."""

    def __init__(self, cloud: Cloud) -> None:
        self.now = 1000.0
        self.alive: set[str] = set()
        self.taken: set[str] = set()
        self.members: set[str] = set()
        self.quarantined: set[str] = set()
        self.cloud = Inventory(cloud, clock=lambda: self.now)
        host = machine(HOST, HOST_ADDRESS, site="rack", pool="bare-metal")
        self.host = Inventory(DeclaredHosts("rack", {HOST: host}), clock=lambda: self.now)
        self.judge = Judge(
            ENVIRONMENT,
            [self.cloud, self.host],
            nodes=self,
            names=self,
            clock=lambda: self.now,
            quarantined=lambda: self.quarantined,
        )
        if not cloud.broken:
            self.cloud.list()
        self.host.list()
        self.now += 1
        self.first: dict[str, float] = {}

    def live(self, node: str) -> bool:
        return node in self.alive

    def member(self, node: str) -> bool:
        return node in self.members

    def rival(self, request: Request) -> bool:
        return request.node in self.taken

    def says(self, document: dict[str, Any]) -> str:
        """Return ``granted``, ``waits`` or the reason of a refusal."""
        seen_at = self.first.setdefault(document["metadata"]["name"], self.now)
        try:
            self.judge.check(parse(document), seen_at=seen_at)
        except RefusedError as error:
            return error.reason
        except WaitError:
            return "waits"
        return "granted"


def machine(name: str = NODE, address: str = ADDRESS, **more: Any) -> ListedMachine:
    addresses = frozenset([address] if address else [])
    return ListedMachine(name=name, addresses=addresses, **{"site": "use1", "pool": "cpu", "identity": name, **more})


def proved(node: str = NODE, *, machine: str = "", site: str = "use1", **more: Any) -> dict[str, Any]:
    """Return a machine's request by the join endpoint; ``machine``: the one that was proved, if not ``node``."""
    return kubelets.by_proof(client(node, **more), machine or node, site=site)


@pytest.fixture(name="world")
def _world() -> JudgeWorld:
    return JudgeWorld(Cloud(machine()))


def client(node: str = NODE, own: kubelets.Key | None = None, **more: Any) -> dict[str, Any]:
    return kubelets.document(kubelets.csr(node, own or kubelets.key(), **more))


def serving(node: str = NODE, *, dns_names: Iterable[str] | None = None, addresses: Iterable[str] = (ADDRESS,)) -> Any:
    names = [node] if dns_names is None else list(dns_names)
    asked = kubelets.csr(node, kubelets.key(), dns_names=names, addresses=list(addresses))
    return kubelets.document(asked, signer=SERVING)


def test_a_machine_of_the_pool_joins(world: JudgeWorld) -> None:
    assert world.says(proved()) == "granted"


def test_a_rsa_key_may_be_for_encipherment_too(world: JudgeWorld) -> None:
    own = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    usages = ["digital signature", "key encipherment", "client auth"]
    document = kubelets.document(kubelets.csr(NODE, own), usages=usages)
    assert world.says(kubelets.by_proof(document, NODE)) == "granted"


def test_a_machine_is_what_it_proved_and_nothing_else(world: JudgeWorld) -> None:
    assert world.says(proved(machine="i-0fedcba9876543210")) == "WrongMachine"
    assert world.says(kubelets.by_proof(client(), "")) == "WrongMachine"
    assert world.says(proved(site="gone")) == "UnknownMachine"
    assert world.says(proved(site="")) == "UnknownMachine"
    assert world.says(proved(HOST, machine=NODE, site="rack")) == "WrongMachine"
    assert world.says(kubelets.by_proof(client(HOST), "", site="rack")) == "WrongMachine", "racks prove nothing"


def test_a_machine_s_name_may_be_another_than_what_it_proves() -> None:
    """In Azure the vmId is signed, not the name."""
    world = JudgeWorld(Cloud(machine("lab-gpu-000000", identity="11111111-2222-4333-8444-555555555555")))
    ours = {"machine": "11111111-2222-4333-8444-555555555555"}
    assert world.says(proved("lab-gpu-000000", **ours)) == "granted"
    assert world.says(proved("lab-gpu-000000")) == "WrongMachine"


def test_only_the_join_service_says_who_was_proved(world: JudgeWorld) -> None:
    document = proved()
    for user in ("system:bootstrap:abcdef", "longhaul:node-controller", "longhaul:join:other"):
        forged = {**document, "spec": {**document["spec"], "username": user}}
        assert world.says(forged) in ("UnknownToken", "NotAllowed")


def test_the_join_service_asks_for_clients_alone(world: JudgeWorld) -> None:
    assert world.says(kubelets.by_proof(serving(), NODE)) == "NotAllowed"


def test_a_rack_s_host_joins_with_its_own_token_alone(world: JudgeWorld) -> None:
    assert world.says(kubelets.by_token(client(HOST), HOST)) == "granted"
    assert world.says(kubelets.by_token(client(NODE), HOST)) == "WrongName"


def test_a_node_renews_and_serves(world: JudgeWorld) -> None:
    world.alive.add(NODE)
    assert world.says(kubelets.by_node(client(), NODE)) == "granted"
    assert world.says(kubelets.by_node(serving(), NODE)) == "granted"
    assert world.says(kubelets.by_node(serving(dns_names=[]), NODE)) == "granted"


@pytest.mark.parametrize(
    ("user", "groups"),
    [
        ("system:serviceaccount:default:pod", ["system:serviceaccounts"]),
        ("system:node:i-00000000000000bad", ["system:nodes"]),
        (f"system:node:{NODE}", ["system:authenticated"]),
        ("longhaul-admin", ["system:masters"]),
        ("", []),
    ],
)
@pytest.mark.parametrize("signer", [CLIENT, SERVING])
def test_nobody_asks_for_another(world: JudgeWorld, user: str, groups: list[str], signer: str) -> None:
    document = client() if signer == CLIENT else serving()
    assert world.says(kubelets.received(document, user=user, groups=groups)) == "NotAllowed"


@pytest.mark.parametrize(
    ("hosts", "reason"),
    [
        ([], "UnknownToken"),
        ([""], "UnknownToken"),
        ([NODE], "UnknownMachine"),
        ([HOST], "WrongName"),
        ([NODE, HOST], "UnknownToken"),
    ],
)
def test_a_token_is_for_a_rack_s_host(world: JudgeWorld, hosts: list[str], reason: str) -> None:
    assert world.says(kubelets.by_token(client(), *hosts)) == reason


def test_a_token_of_somebody_else_s_is_none(world: JudgeWorld) -> None:
    groups = ["system:bootstrappers", f"system:bootstrappers:longhaul:host:{HOST}"]
    document = kubelets.received(client(HOST), user="system:bootstrap:rackid", groups=groups)
    assert world.says(document) == "UnknownToken"


def test_a_token_gives_no_server_s_certificate(world: JudgeWorld) -> None:
    asked = serving(HOST, addresses=[HOST_ADDRESS])
    assert world.says(kubelets.by_token(asked, HOST)) == "NotAllowed"


@pytest.mark.parametrize("document", [proved, lambda: kubelets.by_token(client(HOST), HOST)])
def test_a_live_name_and_one_just_given_are_taken(world: JudgeWorld, document: Callable[[], dict[str, Any]]) -> None:
    world.alive |= {NODE, HOST}
    assert world.says(document()) == "NameIsLive"
    world.alive.clear()
    world.taken |= {NODE, HOST}
    assert world.says(document()) == "NameIsTaken"


def test_a_silent_node_s_name_is_for_nobody_but_a_rack_s_host(world: JudgeWorld) -> None:
    """A host may use the name again: a person works on it."""
    world.members |= {NODE, HOST}
    assert world.says(proved()) == "NameIsTaken"
    assert world.says(kubelets.by_token(client(HOST), HOST)) == "granted"


@pytest.mark.parametrize("presence", [Presence.ENDING, Presence.ENDED])
def test_an_ending_machine_gets_nothing(presence: Presence) -> None:
    world = JudgeWorld(Cloud(machine(presence=presence)))
    assert world.says(proved()) == "UnknownMachine"
    assert world.says(kubelets.by_node(client(), NODE)) == "UnknownMachine"
    assert world.says(kubelets.by_node(serving(), NODE)) == "UnknownMachine"


@pytest.mark.parametrize(
    ("dns_names", "addresses", "reason"),
    [
        ([NODE, "kubernetes.default"], [ADDRESS], "ForeignName"),
        (["other"], [ADDRESS], "ForeignName"),
        ([f"*.{NODE}"], [ADDRESS], "ForeignName"),
        ([NODE], [ADDRESS, "10.64.3.5"], "ForeignAddress"),
        ([NODE], ["127.0.0.1"], "ForeignAddress"),
        ([NODE], ["::1"], "ForeignAddress"),
        ([NODE], [HOST_ADDRESS], "ForeignAddress"),
        ([NODE], [], "WrongSubject"),
    ],
)
def test_a_server_has_its_own_names_alone(
    world: JudgeWorld, dns_names: list[str], addresses: list[str], reason: str
) -> None:
    document = serving(dns_names=dns_names, addresses=addresses)
    assert world.says(kubelets.by_node(document, NODE)) == reason


def test_a_machine_without_an_address_yet_waits() -> None:
    world = JudgeWorld(Cloud(machine(address="")))
    assert world.says(proved()) == "granted"
    assert world.says(kubelets.by_node(serving(), NODE)) == "waits"


# A machine that is not in the list.


def test_an_unknown_machine_is_asked_for_at_once_and_refused_only_later(world: JudgeWorld) -> None:
    document = proved("i-00000000000000bad")
    assert world.says(document) == "waits"
    world.cloud.ask()
    assert world.says(document) == "waits"
    world.now += SETTLE_S - 1
    assert world.says(document) == "waits"
    world.now += 1
    assert world.says(document) == "waits", "the last question was before that time"
    world.cloud.ask()
    assert world.says(document) == "UnknownMachine"


def test_a_machine_that_was_made_since_the_last_listing_is_found(world: JudgeWorld) -> None:
    source = world.cloud.source
    assert isinstance(source, Cloud)
    source.machines["i-00000000000000new"] = machine("i-00000000000000new", "10.65.128.9")
    document = proved("i-00000000000000new")
    assert world.says(document) == "waits"
    world.cloud.ask()
    assert world.says(document) == "granted"


def test_nothing_is_refused_while_the_list_cannot_be_had() -> None:
    cloud = Cloud()
    cloud.broken = True
    world = JudgeWorld(cloud)
    for document in (proved(), kubelets.by_node(client(), NODE), kubelets.by_node(serving(), NODE)):
        for _ in range(3):
            assert world.says(document) == "waits"
            with pytest.raises(CloudError):
                world.cloud.ask()
            world.now += SETTLE_S
            world.host.list()
        assert world.says(document) == "waits"


@pytest.mark.parametrize("way", ["proof", "renewal", "serving"])
def test_a_machine_in_quarantine_gets_no_certificate_by_any_way(world: JudgeWorld, way: str) -> None:
    asked = {
        "proof": proved,
        "renewal": lambda: kubelets.by_node(client(), NODE),
        "serving": lambda: kubelets.by_node(serving(), NODE),
    }[way]()
    world.quarantined.add(HOST)
    assert world.says(asked) == "granted"
    world.quarantined.add(NODE)
    assert world.says(asked) == "Quarantined"
