"""AWS's stand-in plugin under the real engine, on the components that production uses."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lab import tools
from tests.lab.providers.aws_scenarios import SCENARIOS

pytestmark = [
    pytest.mark.engine,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs namespaces of its own, so root"),
]


@pytest.fixture(scope="module", autouse=True)
def _engine(tmp_path_factory: pytest.TempPathFactory) -> None:
    tools.ensure(["pulumi"], log_dir=tmp_path_factory.mktemp("tools"), progress=print)


@pytest.mark.parametrize("name", SCENARIOS)
def test_scenario(name: str, tmp_path: Path, root: Path) -> None:
    inner = [sys.executable, "-m", "tests.lab.providers.aws_scenarios", name, str(tmp_path)]
    alone = ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]
    done = subprocess.run([*alone, *inner], cwd=root, text=True, capture_output=True, timeout=900, check=False)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr[-6000:]}"
