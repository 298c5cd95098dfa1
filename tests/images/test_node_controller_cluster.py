"""Which names are taken: by who lives, and by who was just let in."""

from __future__ import annotations

import pytest
from controller.cluster import RIVAL_S, KubernetesCluster
from controller.request import parse

from tests.images import kubelets
from tests.images.fake_api import NODE, FakeApi, Held, joining


class Neighbours:
    def __init__(self) -> None:
        self.api, self.nodes, self.now = FakeApi(), Held(), 1795276800.0
        self.cluster = KubernetesCluster(self.api, nodes=self.nodes, wall=lambda: self.now)  # type: ignore[arg-type]

    def lease(self, renewed: str) -> None:
        path = f"/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/{NODE}"
        self.api.objects[path] = {"spec": {"renewTime": renewed}}

    def ready(self, status: str) -> None:
        self.api.objects[f"/api/v1/nodes/{NODE}"] = {"status": {"conditions": [{"type": "Ready", "status": status}]}}


@pytest.fixture(name="near")
def _near() -> Neighbours:
    return Neighbours()


def test_a_name_just_given_is_kept_for_its_key(near: Neighbours) -> None:
    first, second = parse(joining()), parse(joining())
    near.cluster.granted(first)
    assert not near.cluster.rival(first)
    assert near.cluster.rival(second)
    near.now += RIVAL_S + 1
    assert not near.cluster.rival(second)


def test_once_there_is_a_node_its_lease_decides(near: Neighbours) -> None:
    near.cluster.granted(parse(joining()))
    near.nodes.documents = [{"metadata": {"name": NODE}}]
    assert not near.cluster.rival(parse(joining()))


def test_what_another_controller_granted_is_remembered(near: Neighbours) -> None:
    document = joining()
    document["metadata"]["creationTimestamp"] = "2026-11-21T16:00:00Z"
    document["status"] = {"certificate": "x"}
    near.cluster.recall([document, joining(), kubelets.by_token(kubelets.document("AAAA"))])
    assert near.cluster.rival(parse(joining()))


@pytest.mark.parametrize(
    ("renewed", "ready", "live"),
    [
        (None, None, False),
        ("2026-11-21T15:59:30.000000Z", None, True),
        ("2026-11-21T15:59:10.000000Z", None, False),
        ("2026-11-21T15:59:10.000000Z", "True", True),
        ("2026-11-21T15:59:10.000000Z", "Unknown", False),
        (None, "True", True),
    ],
)
def test_who_lives(near: Neighbours, renewed: str | None, ready: str | None, live: bool) -> None:
    if renewed:
        near.lease(renewed)
    if ready:
        near.ready(ready)
    assert near.cluster.live(NODE) is live


def test_a_pool_s_token_stays(near: Neighbours) -> None:
    secret = "/api/v1/namespaces/kube-system/secrets/bootstrap-token-abcdef"
    near.api.objects[secret] = {"metadata": {"annotations": {"longhaul.dev/pool": "cpu"}}}
    near.cluster.granted(parse(joining()))
    near.cluster.joined(NODE)
    assert near.api.written == []
    near.api.objects[secret] = {"metadata": {"annotations": {"longhaul.dev/node": NODE}}}
    near.cluster.granted(parse(joining()))
    near.cluster.joined(NODE)
    assert [(method, path) for method, path, _ in near.api.written] == [("DELETE", secret)]
