"""The stand-in plugins under the real engine, against a live cloud without machines."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lab import tools
from tests.lab.providers import aws_scenarios, named_scenarios, scenarios

pytestmark = [
    pytest.mark.engine,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs namespaces of its own, so root"),
]


@pytest.fixture(scope="module", autouse=True)
def _engine(tmp_path_factory: pytest.TempPathFactory) -> None:
    tools.ensure(["pulumi"], log_dir=tmp_path_factory.mktemp("tools"), progress=print)


@pytest.mark.parametrize(
    ("module", "name"),
    [(module.__name__, name) for module in (scenarios, aws_scenarios, named_scenarios) for name in module.SCENARIOS],
)
def test_scenario(module: str, name: str, tmp_path: Path, root: Path) -> None:
    inner = [sys.executable, "-m", module, name, str(tmp_path)]
    alone = ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]
    done = subprocess.run([*alone, *inner], cwd=root, text=True, capture_output=True, timeout=3600, check=False)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr[-6000:]}"
