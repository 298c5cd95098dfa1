"""Order in which modules use the lab that they share."""

from __future__ import annotations

import pytest

SHARERS = (
    "test_depot_only",
    "test_control_plane",
    "test_autoscaler_unit",
    "test_rotation",
    "test_hybrid",
    "test_dns",
    "test_attest",
    "test_inside",
    "test_node_labels",
    "test_queues",
    "test_quarantine",
    "test_cis",
    "test_network",
    "test_gone",
    "test_acceptance",
    "test_roll",
    "test_preflight_catches",
    "test_host_life",
    "test_commands",
    "test_sign_in",
    "test_gpu_pods",
    "test_gpus",
    "test_down",
)
"""Modules in their order. The first has to see the lab being made; people may sign in from ``test_sign_in`` on, and the
one before the last leaves a degraded host in it."""


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests that share a lab after all others."""
    items.sort(key=_place)


def _place(item: pytest.Item) -> int:
    """Return a test's place; 0 when it does not share the lab."""
    if "shared_lab" not in getattr(item, "fixturenames", ()):
        return 0
    if item.path.stem not in SHARERS:
        raise pytest.UsageError(f"{item.path.name} takes the shared lab: give it a place among SHARERS in {__file__}")
    return 1 + SHARERS.index(item.path.stem)
