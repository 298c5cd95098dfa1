"""Role nvidia_driver on Ubuntu 24.04: DKMS really compiles NVIDIA's open modules for one of Ubuntu's real kernels."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from longhaul.toolchain.cache import remove
from longhaul.toolchain.process import output_of
from longhaul.toolchain.trees import copy_system
from tests.playbooks.test_nvidia_driver_build import played
from tests.support import gpu_depot
from tests.support.gpu_depot import UBUNTU, GpuDepot

pytestmark = [pytest.mark.lab, pytest.mark.drill]

MODULES = {f"nvidia{part}.ko" for part in ("", "-drm", "-modeset", "-peermem", "-uvm")}
SHIMS_KEY = "var/lib/shim-signed/mok/MOK.priv"
"""Private key with which Ubuntu's DKMS signs, made by the package shim-signed, which its images for clouds have."""


@pytest.fixture(scope="module", name="depot")
def _depot(tmp_path_factory: pytest.TempPathFactory) -> GpuDepot:
    if os.geteuid() != 0:
        pytest.skip("needs root")
    return gpu_depot.ensure(tmp_path_factory.mktemp("log"), UBUNTU)


@pytest.fixture(scope="module", name="root")
def _root(depot: GpuDepot, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A system on which the role was played twice; the second time it changed nothing."""
    folder = tmp_path_factory.mktemp("ubuntu")
    copy_system(depot.base / "rootfs", folder / "root")
    (folder / "root" / SHIMS_KEY).parent.mkdir(parents=True)
    (folder / "root" / SHIMS_KEY).write_text("made here\n")
    assert played(folder / "root", depot, folder / "log") > 0
    assert played(folder / "root", depot, folder / "log") == 0
    yield folder / "root"
    remove(folder / "root")


def test_the_open_modules_are_compiled_for_the_kernel_that_boots(root: Path, depot: GpuDepot) -> None:
    version = depot.version(gpu_depot.pins(UBUNTU)["open"][0])
    assert {
        path.name.removesuffix(".zst") for path in (root / f"lib/modules/{depot.kernel}/updates/dkms").iterdir()
    } == MODULES
    asked = ["chroot", str(root), "modinfo", "-k", depot.kernel, "-F"]
    assert output_of([*asked, "version", "nvidia"]).strip() == version
    assert output_of([*asked, "license", "nvidia"]).strip() == "Dual MIT/GPL"


def test_driver_and_headers_are_held(root: Path, depot: GpuDepot) -> None:
    pins = gpu_depot.pins(UBUNTU)
    argv = ["dpkg-query", f"--admindir={root / 'var/lib/dpkg'}", "-W", "-f=${Package} ${db:Status-Want}\\n"]
    held = {line.split()[0] for line in output_of(argv).splitlines() if line.endswith(" hold")}
    assert {f"linux-headers-{depot.kernel}", *pins["open"], *pins["libraries"]} <= held


def test_persistence_runs_as_ubuntus_user(root: Path) -> None:
    assert (root / "etc/systemd/system/multi-user.target.wants/nvidia-persistenced.service").is_symlink()
    assert f"\n{gpu_depot.pins(UBUNTU)['persistence_user']}:" in (root / "etc/passwd").read_text()


def test_no_private_key_is_in_the_image(root: Path) -> None:
    assert not (root / SHIMS_KEY).exists()
    assert [path.name for path in (root / "var/lib/dkms").iterdir() if path.suffix == ".key"] == []
