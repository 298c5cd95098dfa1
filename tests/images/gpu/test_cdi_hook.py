"""The hook in GPUs' CDI specifications, which has the same path on every machine, wherever NVIDIA's own hook is."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from components.objects import nvidia_gpus
from tests.support.programs import write_program

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="mounts folders over the system's, which needs root")

HIDE = 'mount -t tmpfs none /usr/local/bin && mount --bind "$1" "$2" && shift 2 && exec env -i "$@"'
"""Runs a command without any variables in a mount namespace of its own, with one folder in the place of another."""


def start(rootfs: Path, *, has: Path, at: str) -> subprocess.CompletedProcess[str]:
    hook = str(rootfs) + nvidia_gpus.CDI_HOOK
    unshare = ("unshare", "--mount", "--propagation=private", "sh", "-ec", HIDE, "sh", str(has), at)
    return subprocess.run(
        [*unshare, hook, "create-symlinks", "--link", "a::b"],
        input="state",
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(name="folder")
def _folder(tmp_path: Path) -> Path:
    """Folder with a stand-in for NVIDIA's hook, which prints its input."""
    return write_program(tmp_path / "bin" / "nvidia-cdi-hook", '#!/bin/sh\nread -r state\necho "$state: $*"\n').parent


def test_it_is_called_as_nvidias_is() -> None:
    # The toolkit chooses a hook's arguments by the last part of its path.
    assert Path(nvidia_gpus.CDI_HOOK).name == "nvidia-cdi-hook"
    assert f"--nvidia-cdi-hook-path={nvidia_gpus.CDI_HOOK}" in nvidia_gpus.ARGS


def test_what_a_depot_brought_is_found_without_a_path(rootfs: Path, folder: Path) -> None:
    done = start(rootfs, has=folder, at="/usr/local/bin")
    assert (done.returncode, done.stdout) == (0, "state: create-symlinks --link a::b\n")


def test_a_machine_without_the_toolkit_fails_the_container_and_says_why(rootfs: Path, tmp_path: Path) -> None:
    done = start(rootfs, has=tmp_path, at="/usr/local/bin")
    assert done.returncode == 127
    assert "nvidia-cdi-hook: not found" in done.stderr
