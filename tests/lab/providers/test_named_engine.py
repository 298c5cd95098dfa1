"""Both clouds' stand-in plugins under the real engine, with a program that names existing parts."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lab.providers import named_scenarios
from tests.support.alone import NEEDS_ROOT, run_alone

pytestmark = [pytest.mark.engine, NEEDS_ROOT]


@pytest.mark.parametrize("name", named_scenarios.SCENARIOS)
def test_scenario(name: str, tmp_path: Path) -> None:
    run_alone(named_scenarios.__name__, name, tmp_path)
