"""Role nvidia_driver on the lab's Debian: DKMS really compiles NVIDIA's modules for one of Debian's real kernels."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from lab.ansible.runner import ansible_version, play
from lab.signing import KEY
from longhaul.toolchain.cache import cache_root, digest, ensure_folder, remove, write_json
from longhaul.toolchain.errors import SetupError
from longhaul.toolchain.process import output_of
from longhaul.toolchain.spec import repository
from longhaul.toolchain.trees import copy_system, describe, files_of, link_system
from tests.support import gpu_depot
from tests.support.gpu_depot import GpuDepot

pytestmark = [pytest.mark.lab, pytest.mark.drill]

PLAYBOOKS = repository() / "playbooks"
ROLES = ("nvidia_driver", "machine_files", "packages", "settled")
MODULES = {f"nvidia-current{part}.ko" for part in ("", "-drm", "-modeset", "-peermem", "-uvm")}


@dataclass(frozen=True, kw_only=True)
class Baked:
    """A system on which the role was played twice, and the number of tasks that changed something. Nothing may write to
    it."""

    root: Path
    changed: list[int]
    depot: GpuDepot

    def text(self, path: str) -> str:
        return (self.root / path).read_text()


@pytest.fixture(scope="module", name="depot")
def _depot(tmp_path_factory: pytest.TempPathFactory) -> GpuDepot:
    if os.geteuid() != 0:
        pytest.skip("needs root")
    return gpu_depot.ensure(tmp_path_factory.mktemp("log"))


def played(root: Path, depot: GpuDepot, log: Path, **more: object) -> int:
    """Play the role and return the number of tasks that changed something."""
    start = log.stat().st_size if log.exists() else 0
    variables = {"purpose": "gpu", "nvidia_driver_modules": depot.system.kind, "nvidia_driver_kernel": depot.kernel}
    with gpu_depot.served(depot.root) as address:
        given = {"depot": address, "depot_key": KEY, **variables, **more}
        play(PLAYBOOKS / "image.yml", root=root, tags=["nvidia_driver"], variables=given, log=log)
    (changed,) = re.findall(r"changed=(\d+)", log.read_text()[start:])
    return int(changed)


def made_of(depot: GpuDepot) -> str:
    """Return a digest of everything that the system depends on. Compiling takes a minute and a half, so it is done once
    for each digest."""
    files = [*(path for _, path in files_of(PLAYBOOKS / "roles" / role for role in ROLES))]
    files += [PLAYBOOKS / "filter_plugins" / name for name in ("nvidia.py", "files.py")]
    described = {str(path): describe(path) for path in files}
    return digest(depot.root.name, gpu_depot.pins(), ansible_version(), described)


@pytest.fixture(scope="module", name="baked")
def _baked(depot: GpuDepot, tmp_path_factory: pytest.TempPathFactory) -> Baked:
    place = cache_root() / "gpu-image" / made_of(depot)
    log = tmp_path_factory.mktemp("log") / "log"

    def make(into: Path) -> None:
        copy_system(depot.base / "rootfs", into / "rootfs")
        changed = [played(into / "rootfs", depot, log) for _ in range(2)]
        write_json(into / "changed.json", changed)

    if ensure_folder(place, make, what="an image with NVIDIA's driver", progress=print):
        for other in place.parent.iterdir():
            if other != place and not other.name.startswith("."):
                remove(other)
    return Baked(root=place / "rootfs", changed=json.loads((place / "changed.json").read_text()), depot=depot)


def test_a_second_run_changes_nothing(baked: Baked) -> None:
    assert baked.changed[0] > 0
    assert baked.changed[1] == 0


def test_modules_are_compiled_for_the_kernel_that_boots_and_no_other(baked: Baked) -> None:
    kernel, version = baked.depot.kernel, baked.depot.version("nvidia-kernel-dkms")
    assert kernel != os.uname().release
    assert [path.name for path in (baked.root / "lib/modules").iterdir()] == [kernel]
    built = {path.name for path in (baked.root / f"lib/modules/{kernel}/updates/dkms").iterdir()}
    assert built == MODULES
    for name in built:
        asked = ["chroot", str(baked.root), "modinfo", "-k", kernel, "-F"]
        assert output_of([*asked, "vermagic", name.removesuffix(".ko")]).split()[0] == kernel
        assert output_of([*asked, "version", name.removesuffix(".ko")]).strip() == version
    made = baked.root / "var/lib/dkms/nvidia-current" / version / kernel
    assert "nvidia/nv.c" in next(made.rglob("make.log")).read_text()


def test_kernel_and_driver_are_held_together_and_the_branch_is_pinned(baked: Baked) -> None:
    argv = ["dpkg-query", f"--admindir={baked.root / 'var/lib/dpkg'}", "-W", "-f=${Package} ${db:Status-Want}\\n"]
    held = {line.split()[0] for line in output_of(argv).splitlines() if line.endswith(" hold")}
    pins = gpu_depot.pins()
    assert {f"linux-headers-{baked.depot.kernel}", *pins["proprietary"], *pins["libraries"]} <= held
    assert "bash" not in held
    preferences = baked.text("etc/apt/preferences.d/longhaul-nvidia")
    assert f"Pin: version {pins['branch']}.*\nPin-Priority: 500" in preferences
    assert preferences.rstrip().endswith("Pin: release *\nPin-Priority: -1")


@pytest.mark.parametrize(("branch", "priority"), [("535", 500), ("550", -1)])
def test_apt_takes_no_other_branch(baked: Baked, tmp_path: Path, branch: str, priority: int) -> None:
    text = baked.text("etc/apt/preferences.d/longhaul-nvidia")
    (tmp_path / "preferences").write_text(
        text.replace(f"Pin: version {gpu_depot.pins()['branch']}.", f"Pin: version {branch}.")
    )
    (tmp_path / "lists/partial").mkdir(parents=True)
    options = {
        "Dir::State::status": baked.root / "var/lib/dpkg/status",
        "Dir::State::lists": tmp_path / "lists",
        "Dir::Cache": tmp_path,
        "Dir::Etc::preferences": tmp_path / "preferences",
        **dict.fromkeys(("Dir::Etc::preferencesparts", "Dir::Etc::sourceparts"), tmp_path / "none"),
        "Dir::Etc::sourcelist": "/dev/null",
    }
    argv = ["apt-cache", *(f"--option={name}={value}" for name, value in options.items())]
    assert re.search(rf"\*\*\* 535\S+ {priority}$", output_of([*argv, "policy", "nvidia-kernel-dkms"]), re.MULTILINE)


def test_nouveau_is_off_and_persistence_is_on(baked: Baked) -> None:
    assert "\nblacklist nouveau\n" in baked.text("etc/modprobe.d/longhaul-nvidia.conf")
    unit = baked.root / "etc/systemd/system/multi-user.target.wants/nvidia-persistenced.service"
    assert unit.is_symlink()
    drop_in = baked.text("etc/systemd/system/nvidia-persistenced.service.d/longhaul.conf")
    user = gpu_depot.pins()["persistence_user"]
    assert drop_in.endswith(f"ExecStart=\nExecStart=/usr/bin/nvidia-persistenced --user {user} --persistence-mode\n")
    assert f"\n{user}:" in baked.text("etc/passwd")
    assert "--persistence-mode" in output_of(["chroot", str(baked.root), "/usr/bin/nvidia-persistenced", "--help"])


def test_no_private_key_is_in_the_image(baked: Baked) -> None:
    assert [path.name for path in (baked.root / "var/lib/dkms").iterdir() if path.suffix == ".key"] == []


@pytest.fixture(scope="module", name="copy")
def _copy(baked: Baked, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Copy of the system that tests may write to; all share one, since a copy takes a gigabyte."""
    root = tmp_path_factory.mktemp("copy") / "root"
    copy_system(baked.root, root)
    yield root
    remove(root)


def test_what_an_interrupted_run_left_is_made_good(baked: Baked, copy: Path, tmp_path: Path) -> None:
    """The run was killed between unpacking and configuring, and before it held a package or enabled a unit."""
    status = copy / "var/lib/dpkg/status"
    text = status.read_text().replace("Status: hold ok installed", "Status: install ok installed")
    status.write_text(
        re.sub(r"(Package: nvidia-smi\nStatus: install ok )installed", r"\1unpacked", text).replace(
            "Package: nvidia-persistenced\nStatus: install ok installed",
            "Package: nvidia-persistenced\nStatus: install ok half-configured",
        )
    )
    (copy / "etc/systemd/system/multi-user.target.wants/nvidia-persistenced.service").unlink()
    (copy / "var/lib/longhaul/settled/nvidia-persistenced").unlink()
    assert played(copy, baked.depot, tmp_path / "log") > 0
    assert output_of(["dpkg", f"--root={copy}", "--audit"]) == ""
    assert (copy / "etc/systemd/system/multi-user.target.wants/nvidia-persistenced.service").is_symlink()
    assert played(copy, baked.depot, tmp_path / "log") == 0


def test_a_kernel_that_nothing_is_built_for_is_refused_by_name(baked: Baked, copy: Path, tmp_path: Path) -> None:
    """The kernel's headers exist, but no module can be compiled with them, as with a kernel that is too new."""
    there = copy / "lib/modules" / baked.depot.kernel
    other = there.with_name("99.0.0-new")
    (other / "build").mkdir(parents=True)
    with pytest.raises(SetupError, match=r"has no module that fits the kernel 99\.0\.0-new"):
        played(copy, baked.depot, tmp_path / "log", nvidia_driver_kernel=other.name)


@pytest.mark.parametrize(
    ("wanted", "says"),
    [
        ({"nvidia_driver_modules": "auto"}, r"no GPU of NVIDIA'+s on the PCI bus"),
        ({"nvidia_driver_modules": "open"}, "debian-12 has no open modules of branch 535"),
        ({"nvidia_driver_kernel": ""}, "no kernel is installed, and none is named"),
    ],
)
def test_a_bare_system_is_left_as_it_is_when_something_is_in_the_way(
    depot: GpuDepot, tmp_path: Path, wanted: dict[str, str], says: str
) -> None:
    root = tmp_path / "root"
    link_system(depot.base / "rootfs", root)
    with pytest.raises(SetupError, match=says):
        played(root, depot, tmp_path / "log", **wanted)
    assert "changed=0" in (tmp_path / "log").read_text()
    assert not (root / "etc/modprobe.d/longhaul-nvidia.conf").exists()
    remove(root)
