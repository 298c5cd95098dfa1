"""Facts that role nvidia_driver reads from a machine, and its building of modules."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.playbooks.test_scripts import program
from tests.support.modules import module_at

FILES = Path(__file__).resolve().parents[2] / "playbooks" / "roles" / "nvidia_driver" / "files"


LOOK = module_at(FILES / "look.py")


def write(root: Path, name: str, text: str) -> None:
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text(text)


@pytest.fixture(name="machine")
def _machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A system in a folder, with a GPU, a switch, and the GPU's audio device."""
    root = tmp_path / "root"
    write(root, "etc/os-release", 'PRETTY_NAME="Debian GNU/Linux 12"\nID=debian\nVERSION_ID="12"\n')
    for slot, kind, device in (
        ("18", "0x030200", "0x2330"),
        ("19", "0x068000", "0x22a3"),
        ("1a", "0x040300", "0x10fa"),
    ):
        for name, value in (("vendor", "0x10de"), ("class", kind), ("device", device)):
            write(root, f"sys/bus/pci/devices/0000:{slot}:00.0/{name}", f"{value}\n")
    for name, value in (("vendor", "0x8086"), ("class", "0x030000"), ("device", "0x1234")):
        write(root, f"sys/bus/pci/devices/0000:00:02.0/{name}", f"{value}\n")
    for release in ("6.1.0-9-amd64", "6.1.0-56-amd64"):
        write(root, f"boot/vmlinuz-{release}", "")
        write(root, f"lib/modules/{release}/modules.dep", "")
    write(root, "boot/vmlinuz-removed", "")
    (root / "lib/modules/6.1.0-56-amd64/build").mkdir()
    program(tmp_path, "modinfo", 'test "$2 $5" = "6.1.0-56-amd64 nvidia-current" && echo 535.309.01')
    listed = (
        "nvidia-smi\t535.309.01-0\thold\tinstalled\nlinux-image-x\t1\tinstall\tinstalled\nbash\t5\thold\tinstalled\n"
    )
    listed += "nvidia-kernel-dkms\t535.309.01-0\tinstall\thalf-configured\nold\t1\tdeinstall\tconfig-files\n"
    program(tmp_path, "dpkg-query", f"cat <<'E'\n{listed}E")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return root


def test_a_machine_is_seen_as_it_is(machine: Path) -> None:
    found = LOOK.look(machine)
    assert found["system"] == "debian-12"
    assert (found["gpus"], found["switches"]) == (["2330"], 1)
    assert found["kernels"] == ["6.1.0-9-amd64", "6.1.0-56-amd64"]
    assert found["modules"] == {"6.1.0-56-amd64": "535.309.01"}
    assert found["headers"] == ["6.1.0-56-amd64"]
    assert found["packages"] == {"nvidia-smi": "535.309.01-0", "linux-image-x": "1"}
    assert (found["held"], found["unfinished"]) == (["nvidia-smi"], ["nvidia-kernel-dkms"])
    assert (found["loaded"], found["nouveau"], found["secure_boot"], found["booted"]) == ("", False, False, False)


@pytest.mark.parametrize(
    "line",
    [
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.309.01  Tue Jan  6 2026",
        "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  535.309.01  Release Build  (archlinux)",
    ],
)
def test_the_module_that_runs_is_seen(machine: Path, line: str) -> None:
    write(machine, "proc/driver/nvidia/version", f"{line}\nGCC version:  gcc version 12.2.0\n")
    assert LOOK.look(machine)["loaded"] == "535.309.01"


def test_who_computes_is_seen_and_who_only_asks_is_not(machine: Path) -> None:
    for number, name, device in ((7, "python3", "nvidia-uvm"), (8, "nvidia-smi", "nvidiactl")):
        write(machine, f"proc/{number}/comm", f"{name}\n")
        (machine / f"proc/{number}/fd").mkdir()
        (machine / f"proc/{number}/fd/3").symlink_to(f"/dev/{device}")
    assert LOOK.look(machine)["users"] == ["python3 (7)"]


@pytest.mark.parametrize(("value", "on"), [(b"\x06\0\0\0\x01", True), (b"\x06\0\0\0\0", False)])
def test_secure_boot_is_seen(machine: Path, value: bytes, on: bool) -> None:
    path = machine / LOOK.SECURE_BOOT
    path.parent.mkdir(parents=True)
    path.write_bytes(value)
    assert LOOK.look(machine)["secure_boot"] is on


def build(folder: Path, *kernels: str) -> subprocess.CompletedProcess[str]:
    argv = ["sh", "-s", "--", "535.309.01", *kernels]
    environ = {"PATH": f"{folder}:{os.environ['PATH']}"}
    script = (FILES / "build.sh").read_text()
    return subprocess.run(argv, input=script, env=environ, capture_output=True, text=True, check=False)


@pytest.fixture(name="programs")
def _programs(tmp_path: Path) -> Path:
    """A modinfo that reads what dkms wrote, and a dkms that builds nothing for kernels that are called new or fail."""
    program(tmp_path, "modinfo", f'test "$5" = nvidia-current && cat {tmp_path}/built-$2 2>/dev/null')
    program(
        tmp_path,
        "dkms",
        'case $3 in new*) echo "no member named x"; exit 0 ;; fail*) echo broke; exit 3 ;; esac\n'
        f"echo 535.309.01 > {tmp_path}/built-$3",
    )
    return tmp_path


def test_modules_are_built_once(programs: Path) -> None:
    first = build(programs, "a", "b")
    assert (first.returncode, first.stdout) == (0, "a\nb\n")
    assert build(programs, "a", "b").stdout == ""
    (programs / "built-b").write_text("535.261.03\n")
    assert build(programs, "a", "b").stdout == "b\n"


@pytest.mark.parametrize(("kernel", "why"), [("new", "no member named x"), ("fail", "broke")])
def test_a_kernel_that_no_module_fits_is_an_error_that_says_so(programs: Path, kernel: str, why: str) -> None:
    done = build(programs, kernel)
    assert done.returncode == 1
    assert why in done.stderr
    assert f"NVIDIA's driver 535.309.01 has no module that fits the kernel {kernel} (it has: none)" in done.stderr
    assert done.stdout == ""
