"""The lab that modules share, and the order in which they have it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.shared_lab import SharedLab

SHARERS = (
    "test_depot_only",
    "test_control_plane",
    "test_hybrid",
    "test_attest",
    "test_acceptance",
    "test_roll",
    "test_preflight_catches",
    "test_rack_life",
    "test_gpu_pods",
    "test_gpus",
    "test_down",
)
"""The first has to see the lab made, the one before the last leaves a host in it that is not well."""


@pytest.fixture(scope="session", name="shared_lab")
def _shared_lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedLab]:
    """One lab after another's end is all that a machine's inotify instances allow: those who share this one are the
    last tests of a session, so that its end is the session's."""
    lab = SharedLab(lambda: tmp_path_factory.mktemp("shared"))
    try:
        yield lab
    finally:
        lab.down()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """After all others, those who share a lab."""
    items.sort(key=_place)


def _place(item: pytest.Item) -> int:
    """0 for who shares none."""
    if "shared_lab" not in getattr(item, "fixturenames", ()):
        return 0
    if item.path.stem not in SHARERS:
        raise pytest.UsageError(f"{item.path.name} takes the shared lab: give it a place among SHARERS in {__file__}")
    return 1 + SHARERS.index(item.path.stem)
