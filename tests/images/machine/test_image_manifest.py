"""An image's own manifest agrees with its content."""

from __future__ import annotations

import hashlib
import json
import subprocess
from pathlib import Path

import pytest
from containerd.image_archives import ArchiveError, images
from machine import image_manifest

from longhaul.toolchain.cache import cache_root
from tests.images.archives import write_archive
from tests.support.programs import write_program

STATUS = """\
Package: curl
Status: install ok installed
Maintainer: nobody
Architecture: amd64
Version: 7.88.1-10
Description: a thing

Package: adduser
Status: install ok installed
Maintainer: nobody
Architecture: all
Version: 3.134
Description: a thing
"""
MODINFO = """#!/bin/sh
# modinfo --basedir ROOT --set-version RELEASE --field version MODULE
[ "$4 $7" = "6.1.0-40-cloud-amd64 nvidia-current" ] && echo 535.309.01 && exit 0
echo "modinfo: ERROR: Module $7 not found." >&2
exit 1
"""
BINARY = b"#!/bin/sh\n"


@pytest.fixture(name="root")
def _root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small system with two packages, a binary, two kernels (one with the driver), and a container image."""
    root = tmp_path / "root"
    for name, text in (
        ("etc/os-release", 'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nVERSION_CODENAME=bookworm\n'),
        ("var/lib/dpkg/status", STATUS),
        ("lib/modules/6.1.0-39-cloud-amd64/modules.dep", ""),
        ("lib/modules/6.1.0-40-cloud-amd64/modules.dep", ""),
        ("lib/modules/half-removed/kernel", ""),
    ):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    (root / "usr/local/bin").mkdir(parents=True)
    (root / "usr/local/bin/etcd").write_bytes(BINARY)
    (root / "usr/local/bin/longhaul-node").symlink_to("../lib/longhaul/longhaul-node")
    write_archive(root / "usr/share/longhaul/images/pause.tar", "registry.k8s.io/pause:3.10.1")
    programs = write_program(tmp_path / "bin" / "modinfo", MODINFO).parent
    monkeypatch.setenv("PATH", str(programs), prepend=":")
    return root


def bake(root: Path, *words: str) -> dict[str, object]:
    assert image_manifest.main([*words, "--root", str(root)]) == 0
    found: dict[str, object] = json.loads((root / "usr/share/longhaul/image.json").read_text())
    return found


def test_it_names_all_that_the_machine_is_made_of(root: Path) -> None:
    found = bake(root, "--version=1.4.0", "--commit=abc", "--sources=def", "--kind=gpu")
    digest = found.pop("digest")
    assert isinstance(digest, str)
    assert len(digest) == 64
    assert found == {
        "version": "1.4.0",
        "format": 1,
        "kind": "gpu",
        "commit": "abc",
        "sources": "def",
        "system": {"name": "Debian GNU/Linux 12 (bookworm)", "codename": "bookworm"},
        "kernels": {"6.1.0-39-cloud-amd64": {}, "6.1.0-40-cloud-amd64": {"nvidia": "535.309.01"}},
        "packages": {"adduser": "3.134", "curl": "7.88.1-10"},
        "versions": {},
        "binaries": {"etcd": hashlib.sha256(BINARY).hexdigest()},
        "images": {"registry.k8s.io/pause:3.10.1": images(root / "usr/share/longhaul/images/pause.tar").popitem()[1]},
    }


def test_a_second_run_says_the_same(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = bake(root, "--version=1.4.0")
    written = (root / "usr/share/longhaul/image.json").stat().st_mtime_ns
    assert bake(root, "--version=1.4.0") == first
    assert capsys.readouterr().out == "the manifest is written\nthe manifest is unchanged\n"
    assert (root / "usr/share/longhaul/image.json").stat().st_mtime_ns == written


def test_without_a_version_the_content_makes_one(root: Path) -> None:
    first = bake(root)
    assert first["version"] == f"bookworm-{str(first['digest'])[:16]}"
    (root / "usr/local/bin/etcd").write_bytes(b"other")
    assert bake(root)["version"] != first["version"]
    assert bake(root, "--sources=other")["version"] != bake(root)["version"]
    # The time and the commit of the bake do not change the version.
    assert bake(root, "--commit=other")["version"] == bake(root)["version"]


def test_a_machine_that_cannot_be_described_is_an_error(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (root / "usr/share/longhaul/images/pause.tar").write_bytes(b"half a")
    assert image_manifest.main(["--root", str(root)]) == 1
    assert "pause.tar is no archive of container images" in capsys.readouterr().err
    assert not (root / "usr/share/longhaul/image.json").exists()


@pytest.mark.parametrize("index", [b"", b"[]", b'{"manifests": [{"digest": "sha256:00"}]}'])
def test_an_archive_without_names_is_none(tmp_path: Path, index: bytes) -> None:
    (tmp_path / "index.json").write_bytes(index)
    subprocess.run(["tar", "-C", str(tmp_path), "-cf", str(tmp_path / "a.tar"), "index.json"], check=True)
    with pytest.raises(ArchiveError, match=r"a\.tar is no archive"):
        images(tmp_path / "a.tar")


def baked() -> list[Path]:
    """Return the cached images of the lab's nodes that have a manifest."""
    return sorted(cache_root().glob("image/node-*/rootfs/usr/share/longhaul/image.json"))


@pytest.mark.skipif(not baked(), reason="the lab has baked no image yet")
def test_the_labs_image_is_what_it_says() -> None:
    path = baked()[-1]
    root = path.parents[3]
    said = json.loads(path.read_text())
    content = image_manifest.content(root, kind=said["kind"], commit="", sources=said["sources"])
    found = json.loads(content.to_text(""))
    found = {name: value for name, value in found.items() if name in said}
    assert {name: said[name] for name in found} == found
    assert {"containerd", "kubelet", "ctr"} <= set(found["binaries"])
    assert {"systemd", "nftables"} <= set(found["packages"])


def test_the_versions_are_what_the_binaries_tell(root: Path) -> None:
    assert bake(root)["versions"] == {}, "the binary here cannot run"
    write_program(root / "usr/local/bin/kubelet", "#!/bin/sh\necho Kubernetes v1.99.3\n")
    write_program(root / "usr/local/bin/etcd", "#!/bin/sh\necho etcd Version: 3.6.5\necho Git SHA: abc\n")
    assert bake(root)["versions"] == {"kubernetes": "1.99.3", "etcd": "3.6.5"}
