"""Role rdma: AWS's installer runs if it is the one that was checked, and modules are for machines with adapters."""

from __future__ import annotations

import tarfile
from hashlib import sha256
from pathlib import Path

import pytest

from tests.playbooks.test_scripts import ROLES, sh

EFA = (ROLES / "rdma" / "files" / "efa.sh").read_text(encoding="utf-8")
ROOTFS = ROLES.parents[1] / "images" / "rootfs" / "etc"


@pytest.fixture(name="archive")
def _archive(tmp_path: Path) -> Path:
    """An archive laid out as AWS's, whose installer writes down how it was called."""
    folder = tmp_path / "aws-efa-installer"
    folder.mkdir()
    installer = folder / "efa_installer.sh"
    installer.write_text(f'#!/bin/sh\necho "$*" >{tmp_path}/called\n')
    installer.chmod(0o755)
    archive = tmp_path / "installer.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(folder, arcname=folder.name)
    return archive


def test_the_installer_brings_driver_and_rdma_core_alone(archive: Path, tmp_path: Path) -> None:
    digest = sha256(archive.read_bytes()).hexdigest()
    done = sh(EFA, str(archive), digest, str(tmp_path / "amazon"))
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "called").read_text() == "--yes --minimal\n"
    assert (tmp_path / "amazon/longhaul-efa.sha256").read_text() == f"{digest}\n"


@pytest.mark.parametrize("digest", ["0" * 64, "none"])
def test_an_installer_that_nobody_checked_does_not_run(archive: Path, tmp_path: Path, digest: str) -> None:
    done = sh(EFA, str(archive), digest, str(tmp_path / "amazon"))
    assert done.returncode == 1
    assert "nothing was installed" in done.stderr
    assert not (tmp_path / "called").exists()
    assert not (tmp_path / "amazon").exists()


def test_modules_are_loaded_where_adapters_appear_and_none_is_needed() -> None:
    rule = (ROOTFS / "udev/rules.d/95-longhaul-rdma.rules").read_text()
    unit = (ROOTFS / "systemd/system/longhaul-rdma.service").read_text()
    assert 'SUBSYSTEM=="infiniband"' in rule
    assert 'ENV{SYSTEMD_WANTS}+="longhaul-rdma.service"' in rule
    assert "ConditionDirectoryNotEmpty=/sys/class/infiniband" in unit
    commands = [line for line in unit.splitlines() if line.startswith("ExecStart=")]
    assert all(line.startswith("ExecStart=-") for line in commands), "one that a kernel lacks stops no other"
    loaded = {word for line in commands for word in line.split()[1:] if not word.startswith("-")}
    assert loaded == {"ib_uverbs", "ib_umad", "rdma_ucm", "ib_ipoib", "nvidia_peermem"}
