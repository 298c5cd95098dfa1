"""Choice of the local disk, and disks that are never written to."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import local_ssd
import pytest
from local_ssd import LABEL, Disk, DiskError, choose

OURS = Disk(device="/dev/nvme1n1", label=LABEL, signature="ext4", zeroed=False)
BLANK = Disk(device="/dev/nvme0n1")
FOREIGN = Disk(device="/dev/nvme2n1", signature="xfs", zeroed=False)
UNKNOWN = Disk(device="/dev/nvme3n1", zeroed=False)


def test_ours_comes_before_a_blank_one() -> None:
    assert choose([BLANK, OURS]) == (OURS, False)


def test_a_blank_one_gets_a_file_system() -> None:
    assert choose([FOREIGN, BLANK]) == (BLANK, True)


@pytest.mark.parametrize("disk", [FOREIGN, UNKNOWN])
def test_foreign_data_is_refused_by_name(disk: Disk) -> None:
    with pytest.raises(DiskError, match=disk.device):
        choose([disk])


def test_no_disk_is_said() -> None:
    with pytest.raises(DiskError, match="no local NVMe disk"):
        choose([])


def test_only_the_clouds_local_disks_are_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    models = {
        "nvme0n1": "MSFT NVMe Accelerator v1.0",
        "nvme1n1": "Microsoft NVMe Direct Disk v2",
        "nvme2n1": "Amazon Elastic Block Store",
        "nvme3n1": "Amazon EC2 NVMe Instance Storage",
    }
    for name, model in models.items():
        (tmp_path / name / "device").mkdir(parents=True)
        (tmp_path / name / "device" / "model").write_text(f"{model}   \n")
    (tmp_path / "sda" / "device").mkdir(parents=True)
    monkeypatch.setattr(local_ssd, "_inspect", lambda device: Disk(device=device))
    assert [disk.device for disk in local_ssd.local_disks(tmp_path)] == ["/dev/nvme1n1", "/dev/nvme3n1"]


@pytest.mark.skipif(
    shutil.which("mkfs.ext4") is None or shutil.which("blkid") is None, reason="needs e2fsprogs, util-linux"
)
def test_what_is_on_a_disk_is_seen(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.touch()
    with disk.open("r+b") as file:
        file.truncate(16 << 20)
    assert local_ssd._inspect(str(disk)).blank
    with disk.open("r+b") as file:
        file.seek(4096)
        file.write(b"something")
    assert not local_ssd._inspect(str(disk)).blank
    subprocess.run(["mkfs.ext4", "-q", "-L", LABEL, str(disk)], check=True)
    assert local_ssd._inspect(str(disk)).label == LABEL


@pytest.mark.parametrize(
    ("arguments", "disks", "code"),
    [([], [], 1), (["--if-any"], [], 0), (["--if-any"], [FOREIGN], 1)],
    ids=["needed", "not needed", "there, but somebody else's"],
)
def test_a_worker_does_without(
    arguments: list[str], disks: list[Disk], code: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(local_ssd, "MOUNT", tmp_path)
    monkeypatch.setattr(local_ssd, "local_disks", lambda: disks)
    monkeypatch.setattr("sys.argv", ["local_ssd.py", *arguments])
    assert local_ssd.main() == code
