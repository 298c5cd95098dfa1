"""Names of nodes that were just granted, and tokens of hosts."""

from __future__ import annotations

import pytest

from contract.certificate_requests import parse
from contract.kubernetes.connection import ApiError
from services.node_controller.reserved_names import RESERVED_S, ReservedNames
from tests.images import kubelets
from tests.images.fake_api import NODE, FakeApi, Held, joining


class Neighbours:
    def __init__(self) -> None:
        self.api, self.nodes, self.now = FakeApi(), Held(), 1795276800.0
        self.names = ReservedNames(self.api, nodes=self.nodes, wall=lambda: self.now)  # type: ignore[arg-type]


@pytest.fixture(name="near")
def _near() -> Neighbours:
    return Neighbours()


def test_a_name_just_given_is_kept_for_its_key(near: Neighbours) -> None:
    first, second = parse(joining()), parse(joining())
    near.names.granted(first)
    assert not near.names.rival(first)
    assert near.names.rival(second)
    near.now += RESERVED_S + 1
    assert not near.names.rival(second)


def test_once_there_is_a_node_its_lease_decides(near: Neighbours) -> None:
    near.names.granted(parse(joining()))
    near.nodes.documents = [{"metadata": {"name": NODE}}]
    assert not near.names.rival(parse(joining()))


def test_a_name_stays_with_its_key_between_its_certificates_and_its_node(near: Neighbours) -> None:
    """A kubelet asks for its serving certificate before it creates its Node."""
    near.names.granted(parse(joining()))
    near.names.joined(NODE)
    assert near.names.rival(parse(joining()))


def test_what_nobody_asks_for_any_more_is_forgotten(near: Neighbours) -> None:
    near.names.granted(parse(joining("i-0fedcba9876543210")))
    near.now += RESERVED_S + 1
    near.names.granted(parse(joining()))
    assert set(near.names._grants) == {NODE}


def test_a_token_that_could_not_be_deleted_is_deleted_later(near: Neighbours) -> None:
    secret = "/api/v1/namespaces/kube-system/secrets/bootstrap-token-abcdef"
    near.api.objects[secret] = {}
    near.names.granted(parse(kubelets.by_token(kubelets.document(kubelets.csr(NODE, kubelets.key())), NODE)))
    near.api.refuse = 503
    with pytest.raises(ApiError):
        near.names.joined(NODE)
    near.api.refuse = 0
    near.names.joined(NODE)
    near.names.joined(NODE)
    assert [method for method, _, _ in near.api.written] == ["DELETE"]


def test_what_another_controller_granted_is_remembered(near: Neighbours) -> None:
    document = joining()
    document["metadata"]["creationTimestamp"] = "2026-11-21T16:00:00Z"
    document["status"] = {"conditions": [{"type": "Approved", "status": "True"}]}
    near.names.recall([document, joining(), kubelets.by_proof(kubelets.document("AAAA"), NODE)])
    assert near.names.rival(parse(joining()))


def test_only_a_token_for_one_host_is_deleted_once_it_was_used(near: Neighbours) -> None:
    secret = "/api/v1/namespaces/kube-system/secrets/bootstrap-token-abcdef"
    near.api.objects[secret] = {}
    asked = kubelets.document(kubelets.csr(NODE, kubelets.key()))
    for document in (joining(), kubelets.by_token(asked), kubelets.by_token(asked, "other")):
        near.names.granted(parse(document))
        near.names.joined(NODE)
    assert near.api.written == []
    near.names.granted(parse(kubelets.by_token(asked, NODE)))
    near.names.joined(NODE)
    assert [(method, path) for method, path, _ in near.api.written] == [("DELETE", secret)]
