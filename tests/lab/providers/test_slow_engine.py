"""Azure's stand-in plugin under the real engine, in a cloud whose operations take their documented share of time."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lab.providers import slow_scenarios
from tests.support.alone import NEEDS_ROOT, run_alone

pytestmark = [pytest.mark.engine, NEEDS_ROOT]


@pytest.mark.parametrize("name", slow_scenarios.SCENARIOS)
def test_scenario(name: str, tmp_path: Path) -> None:
    run_alone(slow_scenarios.__name__, name, tmp_path)
