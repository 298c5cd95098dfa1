"""The tree that the services run from on machines: locked, and with every module that the program imports."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from longhaul.toolchain import services
from longhaul.toolchain.errors import SetupError
from tests.support.project import REPOSITORY

IMPORTS = """
import sys
sys.path[:] = [path for path in sys.path if "-packages" not in path]
import services.autoscaler.unit
from clouds.aws import session as aws
from clouds.azure import session as azure
from clouds.registry import clouds
from clouds.aws import live_groups, machine_access
from clouds.azure import live_groups
for cloud in clouds().values():
    cloud.groups, cloud.limits
for service in ("autoscaling", "ec2"):
    aws.AwsSession().client(service, "us-east-1")
azure.AzureSession(azure.MANAGEMENT)._client
print(*sorted({name.partition(".")[0] for name in sys.modules} & {"pulumi", "ansible", "moto", "aiohttp"}))
"""


def test_every_package_is_locked_with_its_checksums() -> None:
    text = services.requirements()
    blocks = text.replace("\\\n", "").splitlines()
    assert {block.partition("==")[0] for block in blocks} >= {"boto3", "botocore", "pydantic-core", "six", "urllib3"}
    assert not any(block.startswith(("azure-identity", "moto", "pulumi")) for block in blocks)
    assert all("--hash=sha256:" in block for block in blocks)


def test_a_package_that_is_not_locked_is_named(tmp_path: Path) -> None:
    shutil.copy(REPOSITORY / "pyproject.toml", tmp_path)
    (tmp_path / "requirements.lock").write_text("six==1.17.0 \\\n    --hash=sha256:aa\n")
    with pytest.raises(SetupError, match="lacks azure-core, boto3"):
        services.requirements(tmp_path)


def test_a_machine_without_python_3_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match=r"it has '2\.7'"):
        services.ensure(python="2.7", machine="x86_64", log_dir=tmp_path, progress=print)


def test_a_changed_module_makes_another_tree() -> None:
    described = services.sources()
    assert f"{services.PLACE}/services/autoscaler/scaling_decision.py" in described
    assert not any("__pycache__" in name or "/tests/" in name for name in described)
    assert all((REPOSITORY / name).exists() for name in services.FOLDERS)


@pytest.mark.engine
def test_the_program_starts_with_the_tree_alone(tmp_path: Path) -> None:
    made = services.ensure(
        python=f"{sys.version_info.major}.{sys.version_info.minor}",
        machine=os.uname().machine,
        log_dir=tmp_path,
        progress=print,
    )
    done = subprocess.run(
        [os.path.realpath(sys.executable), "-s", "-c", IMPORTS],
        cwd=tmp_path,
        env={"PYTHONPATH": str(made / services.PLACE), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout.strip()) == (0, ""), done.stderr
    size = sum(path.stat().st_size for path in made.rglob("*") if path.is_file())
    assert size < 40 * 2**20, "what is not called has come in"
