"""Choice of the local disks, their array, and disks that are never written to."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from disks import local_ssd
from disks.local_ssd import ARRAY, LABEL, NAMED, Disk, DiskError, array_of, choose, network_disk

OURS = Disk(device="/dev/nvme1n1", label=LABEL, signature="ext4", zeroed=False)
BLANK = Disk(device="/dev/nvme0n1")
FOREIGN = Disk(device="/dev/nvme2n1", signature="xfs", zeroed=False)
BLANKS = [Disk(device=f"/dev/nvme{index}n1") for index in range(4, 8)]
MEMBERS = [
    Disk(device=f"/dev/nvme{index}n1", label=f"host:{ARRAY}", signature="linux_raid_member", zeroed=False)
    for index in range(4, 8)
]
OTHERS = Disk(device="/dev/nvme8n1", label="host:data", signature="linux_raid_member", zeroed=False)
UNKNOWN = Disk(device="/dev/nvme3n1", zeroed=False)


def test_ours_comes_before_a_blank_one() -> None:
    assert choose([BLANK, OURS]) == ([OURS], False)


def test_a_blank_one_gets_a_file_system() -> None:
    assert choose([FOREIGN, BLANK]) == ([BLANK], True)


def test_a_worker_uses_every_blank_disk_and_a_member_of_etcd_one() -> None:
    assert choose([FOREIGN, *BLANKS, OTHERS], stripe=True) == (BLANKS, True)
    assert choose([FOREIGN, *BLANKS, OTHERS]) == (BLANKS[:1], True)


def test_what_a_machine_has_it_keeps() -> None:
    assert choose([*BLANKS, OURS], stripe=True) == ([OURS], False), "a file system of before there were arrays"
    assert choose([BLANK, *MEMBERS, OTHERS], stripe=True) == (MEMBERS, False)


@pytest.mark.parametrize("disk", [FOREIGN, UNKNOWN, OTHERS])
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


class Machine:
    """Arrays of a machine: sysfs, and mdadm and mkfs in place of the real ones."""

    def __init__(self, folder: Path, *, held: bool = False, state: str = "clean", made: str = "") -> None:
        self.sys_block, self.ran = folder, list[list[str]]()
        self._state, self._made = state, made
        if held:
            self._hold()

    def _hold(self) -> None:
        for disk in MEMBERS:
            (self.sys_block / Path(disk.device).name / "holders" / "md127").mkdir(parents=True, exist_ok=True)
        (self.sys_block / "md127" / "md").mkdir(parents=True, exist_ok=True)
        (self.sys_block / "md127" / "md" / "array_state").write_text(f"{self._state}\n")

    def run(self, command: list[str], **_given: object) -> subprocess.CompletedProcess[str]:
        self.ran.append(command)
        if command[0] == "mdadm":
            self._hold()
        return subprocess.CompletedProcess(command, 0, "", "")

    def inspect(self, device: str) -> Disk:
        return Disk(device=device, label=LABEL if self._made else "", signature=self._made, zeroed=False)

    def prepare(self, monkeypatch: pytest.MonkeyPatch, disks: list[Disk], *, blank: bool) -> str:
        """Prepare the disks; the commands are in :attr:`ran`."""
        monkeypatch.setattr(local_ssd.subprocess, "run", self.run)
        monkeypatch.setattr(local_ssd, "_inspect", self.inspect)
        monkeypatch.setattr(
            local_ssd, "array_of", lambda disks, blank: array_of(disks, blank=blank, sys_block=self.sys_block)
        )
        return local_ssd.prepare(disks, blank=blank)


MKFS = ["mkfs.ext4", "-q", "-L", LABEL, "/dev/md127"]
DEVICES = [disk.device for disk in MEMBERS]
CREATE = ["mdadm", "--create", f"/dev/md/{ARRAY}", "--run", "--level=0", "--raid-devices=4", *NAMED]


def test_blank_disks_become_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(tmp_path)
    assert machine.prepare(monkeypatch, BLANKS, blank=True) == "/dev/md127"
    assert machine.ran == [[*CREATE, *DEVICES], MKFS]


@pytest.mark.parametrize("held", [True, False], ids=["udev started it", "nobody started it"])
def test_an_array_survives_a_reboot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, held: bool) -> None:
    machine = Machine(tmp_path, held=held, made="ext4")
    assert machine.prepare(monkeypatch, MEMBERS, blank=False) == "/dev/md127"
    started = [["mdadm", "--assemble", f"/dev/md/{ARRAY}", *NAMED, *DEVICES]]
    assert machine.ran == ([] if held else started)


def test_an_array_that_got_no_file_system_gets_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(tmp_path, held=True)
    machine.prepare(monkeypatch, MEMBERS, blank=False)
    assert machine.ran == [MKFS]


def test_an_array_without_all_of_its_disks_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(tmp_path, held=True, state="inactive")
    with pytest.raises(DiskError, match="is inactive: a disk of it is gone"):
        machine.prepare(monkeypatch, MEMBERS[:3], blank=False)
    assert machine.ran == []


def test_one_disk_is_no_array(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(tmp_path)
    assert machine.prepare(monkeypatch, [BLANK], blank=True) == BLANK.device
    assert machine.ran == [[*MKFS[:-1], BLANK.device]]


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
    monkeypatch.setattr("sys.argv", ["disks.local_ssd", *arguments])
    assert local_ssd.main() == code


def test_the_learners_disk_is_found_by_its_lun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings, device = tmp_path / "data-disk.json", tmp_path / "sdc"
    settings.write_text('{"lun": 0}')
    device.write_bytes(bytes(1 << 20))
    links = tuple(str(tmp_path / name / "lun{lun}") for name in ("by-lun", "scsi1"))
    monkeypatch.setattr(local_ssd, "BY_LUN", links)
    with pytest.raises(DiskError, match="no disk is attached at LUN 0"):
        network_disk(settings)
    for name in ("by-lun", "scsi1"):  # whichever of the two programs made its link
        (tmp_path / name).mkdir()
        (tmp_path / name / "lun0").symlink_to(device)
        (found,) = network_disk(settings)
        assert (found.device, found.blank) == (str(device), True)
        (tmp_path / name / "lun0").unlink()
