"""The lab that modules share, and the order in which they use it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.shared_lab import SharedLab

SHARERS = (
    "test_depot_only",
    "test_control_plane",
    "test_short_drills",
    "test_hybrid",
    "test_attest",
    "test_gone",
    "test_acceptance",
    "test_roll",
    "test_preflight_catches",
    "test_host_life",
    "test_gpu_pods",
    "test_gpus",
    "test_down",
)
"""Modules in their order. The first has to see the lab being made; the one before the last leaves a degraded host in
it."""


@pytest.fixture(scope="session", name="shared_lab")
def _shared_lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedLab]:
    """The lab that all of these modules share. A machine's inotify instances allow only one lab at a time, so these
    modules are the last of a run, and the lab ends with the run."""
    lab = SharedLab(lambda: tmp_path_factory.mktemp("shared"))
    try:
        yield lab
    finally:
        lab.down()


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
