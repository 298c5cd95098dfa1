"""The real plugin for shared RDMA devices, with the configuration that it is given."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from clouds.base.machine_types import Rdma
from components.objects import rdma
from lab import tools

pytestmark = [
    pytest.mark.engine,
    pytest.mark.skipif(
        Path("/sys/class/infiniband").exists(), reason="this machine has adapters, which it would offer"
    ),
]


@pytest.mark.parametrize("kind", [Rdma.INFINIBAND, Rdma.ROCE])
def test_it_takes_its_configuration_and_ends_where_no_adapter_is(tmp_path: Path, kind: Rdma) -> None:
    found = tools.ensure(["k8s-rdma-shared-dp"], log_dir=tmp_path / "log", progress=print)
    for name, content in rdma.configuration(kind).items():
        (tmp_path / name).write_text(content)
    command = [str(found["k8s-rdma-shared-dp"]), f"-config-file={tmp_path / 'config.json'}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    # The check of the configuration comes before, and would say what is wrong with it.
    assert (done.returncode, "can not get RDMA subsystem" in done.stderr) == (1, True), done.stderr
