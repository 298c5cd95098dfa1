"""Both clouds' stand-in plugins under the real engine: links of 0.1.0 are brought to today's, in clouds whose changes
take their documented share of time."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lab.providers import upgrade_scenarios
from tests.support.alone import NEEDS_ROOT, run_alone

pytestmark = [pytest.mark.engine, pytest.mark.drill, NEEDS_ROOT]


@pytest.mark.parametrize("name", upgrade_scenarios.SCENARIOS)
def test_scenario(name: str, tmp_path: Path) -> None:
    run_alone(upgrade_scenarios.__name__, name, tmp_path)
