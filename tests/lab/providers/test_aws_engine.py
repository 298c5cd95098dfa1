"""AWS's stand-in plugin under the real engine, against a live cloud without machines."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lab.providers import aws_scenarios
from tests.support.alone import NEEDS_ROOT, run_alone

pytestmark = [pytest.mark.engine, NEEDS_ROOT]

KILLED = pytest.param("killed", marks=pytest.mark.drill)


@pytest.mark.parametrize("name", [KILLED if name == "killed" else name for name in aws_scenarios.SCENARIOS])
def test_scenario(name: str, tmp_path: Path) -> None:
    run_alone(aws_scenarios.__name__, name, tmp_path)
