"""Names that are taken by nodes that are alive."""

from __future__ import annotations

import pytest

from services.node_controller.node_silence import NodeSilence
from tests.images.fake_api import NODE, FakeApi

NOW = 1795276800.0


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
def test_who_lives(renewed: str | None, ready: str | None, live: bool) -> None:
    api = FakeApi()
    if renewed:
        path = f"/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/{NODE}"
        api.objects[path] = {"spec": {"renewTime": renewed}}
    if ready:
        api.objects[f"/api/v1/nodes/{NODE}"] = {"status": {"conditions": [{"type": "Ready", "status": ready}]}}
    assert NodeSilence(api, wall=lambda: NOW).live(NODE) is live  # type: ignore[arg-type]
