"""The images contain what their sources declare, the manifest lists it, and lower layers are never written to."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from lab import image
from lab.image import LabImages
from longhaul.artifacts import image_contents
from longhaul.image.sources import PACKAGES
from longhaul.toolchain import debian, services
from longhaul.toolchain.cache import remove, sha256_file
from longhaul.toolchain.debian import host_sources
from longhaul.toolchain.errors import SetupError
from longhaul.toolchain.trees import describe

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


def test_a_host_of_ubuntu_has_universe_too_and_ubuntus_keys(etc: Path) -> None:
    write(etc, "os-release", "ID=ubuntu\nVERSION_CODENAME=noble\n")
    suites = "Suites: noble noble-updates noble-backports\nComponents: main restricted universe multiverse\n"
    write(etc, "apt/sources.list.d/ubuntu.sources", f"Types: deb\nURIs: http://mirror.example/ubuntu\n{suites}")
    start = "deb [signed-by=/usr/share/keyrings/ubuntu-archive-keyring.gpg] http://mirror.example/ubuntu"
    assert host_sources("noble", etc=etc) == [f"{start} {suite} main universe" for suite in ("noble", "noble-updates")]


@pytest.mark.parametrize("release", ["ID=ubuntu\nVERSION_CODENAME=noble\n", "ID=debian\nVERSION_CODENAME=trixie\n"])
def test_the_archives_of_another_system_are_not_used(etc: Path, release: str) -> None:
    write(etc, "os-release", release)
    write(etc, "apt/sources.list.d/debian.sources", DEB822)
    assert host_sources("bookworm", etc=etc) == []


def test_a_files_description_changes_with_content_and_with_the_mode_that_git_keeps(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("a")
    path.chmod(0o644)
    first = describe(path)
    path.chmod(0o600)
    assert describe(path) == first
    path.chmod(0o755)
    executable = describe(path)
    path.write_text("b")
    assert len({first, executable, describe(path)}) == 3


def test_no_tracked_source_of_the_images_names_a_mirror() -> None:
    found = image.load_sources()
    files = [path for _, path in wanted(found.tree, found.lab_tree, found.project / "playbooks") if path.is_file()]
    for path in (*files, found.project / "images" / "image.toml", Path(debian.__file__), Path(image.__file__)):
        text = path.read_text(encoding="utf-8", errors="replace")
        assert "debian.org" not in text, path
        assert not re.search(r"(archive|security|ports)\.ubuntu", text), path


def test_images_cannot_be_made_without_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LONGHAUL_CACHE", str(tmp_path))
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(SetupError, match="needs root"):
        image.bake(log_dir=tmp_path, progress=print)
    assert [path for path in tmp_path.glob("base/*") if path.is_dir()] == []


def test_a_mistake_in_the_list_is_named(tmp_path: Path) -> None:
    text = (image.repository() / "images" / "image.toml").read_text(encoding="utf-8")
    write(tmp_path, "images/image.toml", text.replace("gateway = [", "gatewy = ["))
    shutil.copy(image.repository() / "images" / "operating_systems.toml", tmp_path / "images")
    with pytest.raises(SetupError, match=r"image\.toml: the key 'gateway' is missing"):
        image_contents.load(tmp_path)


def copy_sources(project: Path, copy: Path) -> None:
    """Copy what images are made of. The services' folders, and their packages' names and lock are among that."""
    compiled = shutil.ignore_patterns("__pycache__")
    for name in ("images", "lab/rootfs", "playbooks", *services.FOLDERS):
        shutil.copytree(project / name, copy / name, symlinks=True, ignore=compiled)
    for name in ("tools.toml", *PACKAGES):
        shutil.copy(project / name, copy)


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> image.ImageSources:
    """This checkout's sources, in copies that do not change during the tests."""
    found = image.load_sources()
    copy = tmp_path_factory.mktemp("sources")
    copy_sources(found.project, copy)
    return image.load_sources(copy)


@pytest.fixture(scope="module")
def baked(sources: image.ImageSources, tmp_path_factory: pytest.TempPathFactory) -> LabImages:
    if os.geteuid() != 0:
        pytest.skip("needs root")
    return image.bake(log_dir=tmp_path_factory.mktemp("log"), progress=print, sources=sources)


@pytest.fixture(scope="module", params=["bare", "node", "gateway"])
def root(request: pytest.FixtureRequest, baked: LabImages) -> Path:
    path = getattr(baked, request.param)
    assert isinstance(path, Path)
    return path


def wanted(*trees: Path) -> Iterator[tuple[str, Path]]:
    for tree in trees:
        for path in tree.rglob("*"):
            if (path.is_file() or path.is_symlink()) and "__pycache__" not in path.parts:
                yield str(path.relative_to(tree)), path


@pytest.mark.image
def test_every_file_of_the_trees_is_in_the_node_as_the_manifest_says(
    baked: LabImages, sources: image.ImageSources
) -> None:
    files = dict(wanted(sources.tree, sources.lab_tree))
    files |= {f"{image.CONTRACT}/{name}": path for name, path in wanted(sources.contract)}
    assert baked.manifest["files"] == {name: describe(path) for name, path in files.items()}
    for name, description in baked.manifest["files"].items():
        assert describe(baked.node / name) == description
        if not (baked.node / name).is_symlink():
            status = (baked.node / name).stat()
            assert (status.st_uid, status.st_gid) == (0, 0)
            assert status.st_mode & 0o7777 == int(description.split()[0], 8)


@pytest.mark.image
def test_the_labs_own_files_are_in_every_image(root: Path, sources: image.ImageSources) -> None:
    for name, path in wanted(sources.lab_tree):
        assert describe(root / name) == describe(path)


@pytest.mark.image
def test_what_the_roles_bring_is_in_the_node_alone(baked: LabImages, sources: image.ImageSources) -> None:
    names = {name for name, _ in wanted(sources.tree)}
    for path in (baked.bare, baked.gateway):
        assert [name for name in names if (path / name).exists()] == []
        assert list((path / "usr/local/bin").iterdir()) == []


@pytest.mark.image
def test_the_pinned_binaries_are_in_the_node(baked: LabImages) -> None:
    expected = {"etcd", "etcdctl", "etcdutl", "kube-apiserver", "kubectl", "kubelet", "kube-proxy", "containerd", "ctr"}
    expected |= {"coredns"}
    assert expected <= set(baked.manifest["binaries"])
    assert {"agnhost", "pause"}.isdisjoint(baked.manifest["binaries"])
    for name, sha256 in baked.manifest["binaries"].items():
        path = baked.node / "usr/local/bin" / name
        assert sha256_file(path) == sha256
        assert os.access(path, os.X_OK)


@pytest.mark.image
def test_a_node_says_itself_what_it_is_of(baked: LabImages, sources: image.ImageSources) -> None:
    said = json.loads((baked.node / "usr/share/longhaul/image.json").read_text())
    assert {**said, "suite": "bookworm", "files": baked.manifest["files"]} == baked.manifest
    assert re.fullmatch(r"bookworm-[0-9a-f]{16}", said["version"])
    assert said["kind"] == "node"
    for path in (baked.bare, baked.gateway):
        assert not (path / "usr/share/longhaul").exists()


@pytest.mark.image
def test_what_every_node_runs_came_with_its_image(baked: LabImages, sources: image.ImageSources) -> None:
    declared = {image.tool: image.name for image in sources.contents.images}
    found = {name.rpartition(":")[0] for name in baked.manifest["images"]}
    assert found == {declared[tool] for tool in sources.contents.preloaded}
    assert len(list((baked.node / "usr/share/longhaul/images").iterdir())) == len(found)


@pytest.mark.image
def test_each_image_has_its_packages(baked: LabImages, sources: image.ImageSources) -> None:
    packages = baked.manifest["packages"]
    assert packages == debian.package_versions(baked.node)
    assert {*sources.contents.bare, *sources.contents.node} <= set(packages)
    assert {*sources.contents.bare, *sources.contents.gateway} <= set(debian.package_versions(baked.gateway))
    assert set(sources.contents.bare) <= set(debian.package_versions(baked.bare))
    for name in ("runc", "charon-systemd", "nftables"):
        assert name not in debian.package_versions(baked.bare)


@pytest.mark.image
@pytest.mark.parametrize(
    "name",
    [
        "etc/resolv.conf",
        "etc/hostname",
        "etc/apt/sources.list",
        "etc/apt/sources.list.d/longhaul-depot.list",
        "etc/apt/keyrings/longhaul-depot.asc",
        "etc/apt/apt.conf.d/50longhaul-depot",
        "etc/longhaul/depot-authority.pem",
        "root/.ansible",
        "usr/sbin/policy-rc.d",
    ],
)
def test_nothing_of_the_host_or_of_the_making_is_in_an_image(root: Path, name: str) -> None:
    assert not (root / name).exists()


@pytest.mark.image
def test_machines_get_an_identity_of_their_own(root: Path) -> None:
    assert (root / "etc/machine-id").read_text() == ""
    assert list((root / "etc/ssh").glob("ssh_host_*")) == []


@pytest.mark.image
def test_the_declared_accounts_are_made_in_the_node_alone(baked: LabImages) -> None:
    accounts = (baked.node / "etc/passwd").read_text()
    assert "\netcd:" in accounts
    assert "\nkube:" in accounts
    assert "etcd:" not in (baked.bare / "etc/passwd").read_text()


@pytest.mark.image
def test_a_second_bake_makes_nothing_and_runs_no_ansible(
    baked: LabImages, sources: image.ImageSources, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(image, "play", lambda *_, **__: pytest.fail("ansible was run"))
    said: list[str] = []
    assert image.bake(log_dir=tmp_path, progress=said.append, sources=sources) == baked
    assert said == []


@pytest.mark.image
def test_a_changed_unit_makes_another_node_over_the_same_packages(
    baked: LabImages, sources: image.ImageSources, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("etc/systemd/system/etcd.service", "etc/passwd", "usr/local/bin/etcd")
    before = {name: (baked.node / name).read_bytes() for name in names}
    copy_sources(sources.project, tmp_path)
    write(tmp_path, "images/rootfs/etc/systemd/system/etcd.service", "# ours\n")
    write(tmp_path, "images/rootfs/opt/new/folder/file", "new\n")
    played: list[list[str]] = []
    play = image.play

    def noting(playbook: Path, *, tags: list[str], root: Path, variables: dict[str, object], log: Path) -> None:
        played.append(tags)
        play(playbook, tags=tags, root=root, variables=variables, log=log)

    monkeypatch.setattr(image, "play", noting)
    changed = image.bake(log_dir=tmp_path, progress=print, sources=replace(sources, project=tmp_path))
    try:
        assert played == [["upgrades_off", "rootfs", "services", "manifest"]]
        assert changed.version != baked.version
        assert (changed.bare, changed.gateway) == (baked.bare, baked.gateway)
        assert (changed.node / names[0]).read_text() == "# ours\n"
        assert (changed.node / "opt/new").stat().st_mode & 0o777 == 0o755
        assert {name: (baked.node / name).read_bytes() for name in names} == before
        assert json.loads((changed.node.parent / "manifest.json").read_text()) == changed.manifest
    finally:
        remove(changed.node.parent)
