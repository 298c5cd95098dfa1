"""The image holds what its sources say, its manifest tells it, and the base below is never written to."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from lab import image, tools
from lab.image import Image, Sources
from lab.toolchain import debian
from lab.toolchain.cache import remove, sha256_file
from lab.toolchain.debian import host_sources
from lab.toolchain.errors import SetupError

DEB822 = """\
Types: deb deb-src
# a comment: with a colon
URIs: http://mirror.example/debian
Suites: bookworm bookworm-updates
Components: main contrib
Signed-By: /usr/share/keyrings/own.gpg

Types: deb
URIs: http://mirror.example/security
Suites: bookworm-security
Components: main

Types: deb
Enabled: no
URIs: http://off.example/debian
Suites: bookworm
Components: main
"""
OTHERS = """\
deb [arch=amd64 signed-by=/etc/apt/keyrings/docker.asc] https://download.example/debian bookworm stable
deb https://packages.example/apt cloud-sdk-bookworm main
# deb http://commented.example/debian bookworm main
deb-src http://mirror.example/debian bookworm main
"""


def write(root: Path, name: str, text: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


@pytest.fixture
def etc(tmp_path: Path) -> Path:
    write(tmp_path, "os-release", 'ID=debian\nVERSION_CODENAME=bookworm\nPRETTY_NAME="Debian"\n')
    return tmp_path


def test_the_hosts_own_debian_archives_are_used_and_no_others(etc: Path) -> None:
    write(etc, "apt/sources.list.d/debian.sources", DEB822)
    write(etc, "apt/sources.list.d/others.list", OTHERS)
    keyring = "/usr/share/keyrings/debian-archive-keyring.gpg"
    assert host_sources("bookworm", etc=etc) == [
        "deb [signed-by=/usr/share/keyrings/own.gpg] http://mirror.example/debian bookworm main",
        "deb [signed-by=/usr/share/keyrings/own.gpg] http://mirror.example/debian bookworm-updates main",
        f"deb [signed-by={keyring}] http://mirror.example/security bookworm-security main",
    ]


def test_one_line_sources_are_understood(etc: Path) -> None:
    write(etc, "apt/sources.list", "deb http://mirror.example/debian bookworm main non-free # ours\n")
    (line,) = host_sources("bookworm", etc=etc)
    assert line.endswith("] http://mirror.example/debian bookworm main")


@pytest.mark.parametrize("release", ["ID=ubuntu\nVERSION_CODENAME=noble\n", "ID=debian\nVERSION_CODENAME=trixie\n"])
def test_the_archives_of_another_system_are_not_used(etc: Path, release: str) -> None:
    write(etc, "os-release", release)
    write(etc, "apt/sources.list.d/debian.sources", DEB822)
    assert host_sources("bookworm", etc=etc) == []


def test_a_files_description_changes_with_content_and_with_the_mode_that_git_keeps(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("a")
    path.chmod(0o644)
    first = image.describe(path)
    path.chmod(0o600)
    assert image.describe(path) == first
    path.chmod(0o755)
    executable = image.describe(path)
    path.write_text("b")
    assert len({first, executable, image.describe(path)}) == 3


def test_no_tracked_source_of_the_image_names_a_mirror() -> None:
    sources = image.load_sources()
    root = Path(image.__file__).parents[1]
    files = [
        path for tree in sources.trees for path in tree.rglob("*") if path.is_file() and "__pycache__" not in path.parts
    ]
    for path in (*files, root / "images" / "image.toml", Path(debian.__file__), Path(image.__file__)):
        assert "debian.org" not in path.read_text(encoding="utf-8"), path


@pytest.fixture(scope="module")
def baked(tmp_path_factory: pytest.TempPathFactory) -> Image:
    if os.geteuid() != 0:
        pytest.skip("needs root")
    return image.bake(log_dir=tmp_path_factory.mktemp("log"), progress=print)


def inside(baked: Image, name: str) -> Path:
    return baked.path / name


@pytest.mark.lab
def test_every_file_of_the_trees_is_in_the_image_as_the_manifest_says(baked: Image) -> None:
    sources = image.load_sources()
    wanted = {
        str(path.relative_to(tree))
        for tree in sources.trees
        for path in tree.rglob("*")
        if (path.is_file() or path.is_symlink()) and "__pycache__" not in path.parts
    }
    assert set(baked.manifest["files"]) == wanted
    for name, description in baked.manifest["files"].items():
        assert image.describe(inside(baked, name)) == description
        if not inside(baked, name).is_symlink():
            status = inside(baked, name).stat()
            assert (status.st_uid, status.st_gid) == (0, 0)
            assert status.st_mode & 0o7777 == int(description.split()[0], 8)


@pytest.mark.lab
def test_the_pinned_binaries_are_in_the_image(baked: Image) -> None:
    assert {"etcd", "etcdctl", "etcdutl", "kube-apiserver", "kubectl"} <= set(baked.manifest["binaries"])
    for name, sha256 in baked.manifest["binaries"].items():
        path = inside(baked, f"usr/local/bin/{name}")
        assert sha256_file(path) == sha256
        assert os.access(path, os.X_OK)


@pytest.mark.lab
def test_the_manifest_has_every_package_with_its_version(baked: Image) -> None:
    packages = baked.manifest["packages"]
    assert set(image.load_sources().packages) <= set(packages)
    assert packages == debian.package_versions(baked.path)


@pytest.mark.lab
@pytest.mark.parametrize("name", ["etc/resolv.conf", "etc/hostname", "etc/apt/sources.list", "usr/sbin/policy-rc.d"])
def test_nothing_of_the_host_is_in_the_image(baked: Image, name: str) -> None:
    assert not inside(baked, name).exists()


@pytest.mark.lab
def test_machines_get_an_identity_of_their_own(baked: Image) -> None:
    assert inside(baked, "etc/machine-id").read_text() == ""
    assert list(inside(baked, "etc/ssh").glob("ssh_host_*")) == []


@pytest.mark.lab
def test_the_declared_accounts_are_made_without_touching_the_base(baked: Image, tmp_path: Path) -> None:
    accounts = inside(baked, "etc/passwd").read_text()
    assert "\netcd:" in accounts
    assert "\nkube:" in accounts
    base = image._base(image.load_sources(), log_dir=tmp_path, progress=print)
    assert "etcd:" not in (base / "rootfs" / "etc" / "passwd").read_text()


@pytest.mark.lab
def test_a_second_bake_makes_nothing(baked: Image, tmp_path: Path) -> None:
    said: list[str] = []
    assert image.bake(log_dir=tmp_path, progress=said.append) == baked
    assert said == []


@pytest.mark.lab
def test_a_changed_file_makes_another_image_over_the_same_base(
    baked: Image, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell = inside(baked, "etc/profile").read_bytes()
    tree = tmp_path / "tree"
    write(tree, "etc/profile", "# ours\n")
    write(tree, "opt/new/folder/file", "new\n")
    sources = image.load_sources()
    monkeypatch.setattr(image, "debootstrap", lambda *_, **__: pytest.fail("the base was made again"))
    said: list[str] = []
    changed = image.bake(log_dir=tmp_path, progress=said.append, sources=replace(sources, trees=(*sources.trees, tree)))
    try:
        assert changed.version != baked.version
        assert (changed.path / "etc/profile").read_text() == "# ours\n"
        assert (changed.path / "opt/new").stat().st_mode & 0o777 == 0o755
        assert inside(baked, "etc/profile").read_bytes() == shell
        assert json.loads((changed.path.parent / "manifest.json").read_text())["version"] == changed.version
    finally:
        remove(changed.path.parent)


def test_an_image_cannot_be_made_without_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LONGHAUL_CACHE", str(tmp_path))
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    sources = Sources(suite="bookworm", packages=("none",), tools=(), trees=())
    monkeypatch.setattr(tools, "ensure", lambda *_, **__: {})
    with pytest.raises(SetupError, match="needs root"):
        image.bake(log_dir=tmp_path, progress=print, sources=sources)
    assert [path for path in tmp_path.glob("base/*") if path.is_dir()] == []
