"""Fixtures of the doctor's tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.longhaul.doctor import world


@pytest.fixture(name="manager")
def _manager() -> Iterator[world.Manager]:
    with world.manager() as running:
        yield running
    assert {method for method, _, _ in running.asked} <= {"GET"}, "the doctor only looks"


@pytest.fixture(name="sdk")
def _sdk() -> Iterator[world.Sdk]:
    made = world.Sdk()
    yield made
    made.all_asked()
    looks = ("Get", "List", "Describe", "Simulate")
    writes = [name for name in made.operations if not name.startswith(looks)]
    assert set(writes) <= {"CreateVpc"}, "the doctor only looks; a VPC is only tried, dry"
