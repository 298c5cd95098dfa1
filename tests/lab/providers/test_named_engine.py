"""Both clouds' stand-in plugins under the real engine, on a program that names what is there already."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lab.providers import named_scenarios
from tests.support.alone import NEEDS_ROOT, run_alone

pytestmark = [pytest.mark.engine, NEEDS_ROOT]


@pytest.mark.parametrize("name", named_scenarios.SCENARIOS)
def test_scenario(name: str, tmp_path: Path) -> None:
    run_alone(named_scenarios.__name__, name, tmp_path)
