"""A pool on Azure under the real engine with the stand-in plugin, against a live cloud without machines."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lab.providers import pool_scenarios
from tests.support.alone import NEEDS_ROOT, run_alone

pytestmark = [pytest.mark.engine, NEEDS_ROOT]

KILLED = pytest.param("killed", marks=pytest.mark.drill)


@pytest.mark.parametrize("name", [KILLED if name == "killed" else name for name in pool_scenarios.SCENARIOS])
def test_scenario(name: str, tmp_path: Path) -> None:
    run_alone(pool_scenarios.__name__, name, tmp_path)
