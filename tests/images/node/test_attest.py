"""A machine and the join endpoint, over a real connection: from nothing to a certificate that a kubelet takes."""

from __future__ import annotations

import json
import ssl
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from join_endpoint.join_requests import JoinAnswer
from node import attest as node_attest
from node import join as node_join
from node import proofs as node_proofs
from node.attest import JoinError, JoinPaths, ProofRequest

from contract.certificate_requests import Attested, RefusedError
from contract.documents.node import JoinSettings
from tests.images.join_world import NODE, PROOF, SERVICE, JoinWorld
from tests.images.node.test_place import worker


@pytest.fixture(name="world")
def _world(tmp_path: Path) -> Iterator[JoinWorld]:
    with JoinWorld(tmp_path) as found:
        yield found


@pytest.fixture(name="settings")
def _settings(world: JoinWorld) -> JoinSettings:
    return JoinSettings(address="127.0.0.1", port=world.port, name=SERVICE, cluster="lab")


@pytest.fixture(name="paths")
def _paths(world: JoinWorld) -> JoinPaths:
    folder = world.folder / "kubelet" / "pki"
    return JoinPaths(
        key=folder / "longhaul-join.key",
        folder=folder,
        kubeconfig=world.folder / "kubelet" / "kubeconfig",
        authority=world.folder / "ca.crt",
    )


def grants(world: JoinWorld) -> Callable[[ProofRequest], Mapping[str, object]]:
    """Return a prover. The request that follows its proof is granted at the first look."""
    looks = world.endpoint.look

    def look(print_: str, *, sender: str) -> Any:
        first = looks(print_, sender=sender)
        world.api.grant()
        return first

    world.endpoint.look = look  # type: ignore[method-assign]
    return lambda _: PROOF


def test_from_nothing_to_a_certificate(world: JoinWorld, settings: JoinSettings, paths: JoinPaths) -> None:
    node_attest.join(NODE, settings, grants(world), paths=paths)
    certificate = x509.load_pem_x509_certificate(paths.current.read_bytes())
    assert f"CN=system:node:{NODE}" in certificate.subject.rfc4514_string()
    assert node_attest.usable(paths.current)
    assert not node_attest.usable(paths.current, now=datetime.now(UTC) + timedelta(days=31))
    # Read as a kubelet reads it.
    ssl.create_default_context().load_cert_chain(paths.current)
    assert paths.current.is_symlink()
    assert paths.current.stat().st_mode & 0o777 == 0o600
    assert not paths.key.exists(), "it is in one place"


def test_the_proof_is_for_this_key_and_this_question(
    world: JoinWorld, settings: JoinSettings, paths: JoinPaths
) -> None:
    asked: list[ProofRequest] = []
    prove = grants(world)
    node_attest.join(NODE, settings, lambda one: (asked.append(one), prove(one))[1], paths=paths)
    [question] = world.told.asked
    [one] = asked
    assert (one.cluster, one.fingerprint, one.challenge) == ("lab", question.fingerprint, question.challenge)
    assert world.challenges.knows(one.fingerprint, one.challenge)


def test_a_second_attempt_goes_on_with_the_key_of_the_first(
    world: JoinWorld, settings: JoinSettings, paths: JoinPaths
) -> None:
    def broken(_: ProofRequest) -> Mapping[str, object]:
        raise JoinError("the metadata service is away")

    with pytest.raises(JoinError, match="away"):
        node_attest.join(NODE, settings, broken, paths=paths)
    assert paths.key.stat().st_mode & 0o777 == 0o600
    before = paths.key.read_text()
    node_attest.join(NODE, settings, grants(world), paths=paths)
    assert before in paths.current.read_text()


def test_a_key_that_cannot_be_read_is_made_anew(paths: JoinPaths) -> None:
    paths.folder.mkdir(parents=True)
    paths.key.write_text("half of a k")
    node_attest.load_key(paths.key)
    assert paths.key.read_text().startswith("-----BEGIN EC PRIVATE KEY-----")


def test_a_refusal_says_why(world: JoinWorld, settings: JoinSettings, paths: JoinPaths) -> None:
    world.told.answer = RefusedError("ForeignProof", "it is of another account")
    with pytest.raises(node_attest.JoinRefusedError, match="ForeignProof: it is of another account"):
        node_attest.join(NODE, settings, lambda _: PROOF, paths=paths)
    assert not paths.current.exists()


def test_what_the_controller_refuses_is_told(world: JoinWorld, settings: JoinSettings, paths: JoinPaths) -> None:
    looks = world.endpoint.look
    world.endpoint.look = lambda print_, **by: (world.api.decide("Denied", reason="NameIsLive"), looks(print_, **by))[1]  # type: ignore[method-assign]
    with pytest.raises(node_attest.JoinRefusedError, match="NameIsLive"):
        node_attest.join(NODE, settings, lambda _: PROOF, paths=paths)


def test_a_busy_service_is_asked_again_for_the_same(
    world: JoinWorld, settings: JoinSettings, paths: JoinPaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)
    prove = grants(world)
    looks, busy = world.endpoint.look, [429, 429]

    def look(print_: str, *, sender: str) -> Any:
        return JoinAnswer(status=busy.pop(), body={}) if busy else looks(print_, sender=sender)

    world.endpoint.look = look  # type: ignore[method-assign]
    node_attest.join(NODE, settings, prove, paths=paths)
    assert len(world.told.asked) == 1


def test_somebody_else_s_certificate_is_not_taken(world: JoinWorld, settings: JoinSettings, paths: JoinPaths) -> None:
    node_attest.join(NODE, settings, grants(world), paths=paths)
    theirs = paths.current.read_text()
    with pytest.raises(JoinError, match="somebody else"):
        node_attest.install(theirs, node_attest.load_key(paths.key), paths=paths)
    with pytest.raises(JoinError, match="no certificate"):
        node_attest.install("text", node_attest.load_key(paths.key), paths=paths)
    assert paths.current.read_text() == theirs


def test_nobody_else_is_taken_for_the_service(world: JoinWorld, settings: JoinSettings, paths: JoinPaths) -> None:
    asked: list[ProofRequest] = []
    world.write_certificate("api.lab.internal")
    with pytest.raises(JoinError, match="certificate"):
        node_attest.join(NODE, settings, lambda one: (asked.append(one), PROOF)[1], paths=paths)
    from components.control_plane import issuing

    world.authority = issuing.new_authority(common_name="other", days=1, key=issuing.new_key())
    world.write_certificate(SERVICE)
    with pytest.raises(JoinError, match="certificate"):
        node_attest.join(NODE, settings, lambda one: (asked.append(one), PROOF)[1], paths=paths)
    assert asked == [], "nothing is proved to strangers"


def test_a_renewed_certificate_is_served_at_once(world: JoinWorld, settings: JoinSettings, paths: JoinPaths) -> None:
    world.write_certificate("other.lab.internal")
    with pytest.raises(JoinError):
        node_attest.join(NODE, settings, lambda _: PROOF, paths=paths)
    world.write_certificate(SERVICE)
    node_attest.join(NODE, settings, grants(world), paths=paths)


def test_nobody_there(settings: JoinSettings, paths: JoinPaths, world: JoinWorld) -> None:
    away = JoinSettings(address="127.0.0.1", port=1, name=SERVICE, cluster=settings.cluster)
    with pytest.raises(JoinError, match="refused"):
        node_attest.join(NODE, away, lambda _: PROOF, paths=paths)
    assert world.told.asked == []


# The program.


class Node:
    """A machine's files, for the program that the kubelet's unit starts first."""

    def __init__(self, world: JoinWorld, settings: JoinSettings, paths: JoinPaths, patch: pytest.MonkeyPatch) -> None:
        self.world, self.paths = world, paths
        self.pauses: list[float] = []
        self.document = json.loads(worker(kind="aws", api="https://10.64.3.5:6443", join=settings).to_text())
        patch.setattr(node_join, "NODE", world.folder / "node.json")
        patch.setattr(node_join, "CONSOLE", world.folder / "console")
        patch.setattr(node_attest, "JoinPaths", lambda: paths)
        patch.setattr("time.sleep", self.pauses.append)
        patch.setenv("NODE_NAME", NODE)
        patch.setattr(node_proofs, "prover", lambda kind: {"aws": grants(world)}[kind])

    def run(self) -> int:
        node_join.NODE.write_text(json.dumps(self.document))
        return node_join.main()


@pytest.fixture(name="node")
def _node(world: JoinWorld, settings: JoinSettings, paths: JoinPaths, monkeypatch: pytest.MonkeyPatch) -> Node:
    return Node(world, settings, paths, monkeypatch)


def test_the_kubelet_finds_everything(node: Node) -> None:
    assert node.run() == 0
    assert node.paths.kubeconfig.stat().st_mode & 0o777 == 0o600
    config = json.loads(node.paths.kubeconfig.read_text())
    assert config["clusters"][0]["cluster"]["server"] == "https://10.64.3.5:6443"
    assert config["users"][0]["user"]["client-certificate"] == str(node.paths.current)
    assert len(node.world.told.asked) == 1
    assert node.run() == 0
    assert len(node.world.told.asked) == 1, "who has a certificate asks nobody"


def test_a_machine_asks_until_it_is_believed(node: Node, capsys: pytest.CaptureFixture[str]) -> None:
    refused = RefusedError("ForgedProof", "not yet")
    answers = iter([refused, refused, Attested(site="use1", machine=NODE)])
    attested = node.world.told.attested

    def change(proof: Mapping[str, object], question: Any) -> Attested:
        node.world.told.answer = next(answers)
        return attested(proof, question)

    node.world.told.attested = change  # type: ignore[method-assign]
    assert node.run() == 0
    waits = [pause for pause in node.pauses if pause > 2 * node_attest.LAST_LOOK_S]
    assert len(waits) == 2
    assert all(pause >= node_join.REFUSED_RETRY_S / 2 for pause in waits)
    assert capsys.readouterr().err.count("ForgedProof") == 1


def test_who_does_not_get_through_waits_longer_each_time(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    left = iter([JoinError("away")] * 12)
    monkeypatch.setattr("random.uniform", lambda *_: 1.0)

    def join(*_: Any, **__: Any) -> None:
        if (error := next(left, None)) is not None:
            raise error

    monkeypatch.setattr(node_attest, "join", join)
    monkeypatch.setattr(node_attest, "usable", lambda _: len(node.pauses) == 12)
    assert node.run() == 0
    assert node.pauses[:4] == [0.2, 0.4, 0.8, 1.6]
    assert node.pauses[-1] == node_join.LAST_PROOF_S


def test_a_certificate_that_has_ended_is_replaced(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    assert node.run() == 0
    before = node.paths.current.read_text()
    real, first = node_attest.usable, iter([False])
    monkeypatch.setattr(node_attest, "usable", lambda path: next(first, None) is None and real(path))
    node.world.api.objects = {
        path: document for path, document in node.world.api.objects.items() if "longhaul-join-" not in path
    }
    assert node.run() == 0
    assert node.paths.current.read_text() != before


@pytest.mark.parametrize("change", [{"join": {}}, {"join": {"address": 1}}, {"kind": "gcp"}, {"kind": "onprem"}])
def test_files_that_do_not_say_how_end_it(
    node: Node, change: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    node.document |= change
    assert node.run() == 1
    assert "node.json" in capsys.readouterr().err


def test_only_clouds_can_prove_anything() -> None:
    with pytest.raises(ValueError, match="onprem"):
        node_proofs.prover("onprem")
