"""The system inside the image that conformance specs run in: its programs, users and files, as a node unpacks them."""

from __future__ import annotations

import json
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from lab import base_system, container_system, tools
from longhaul.artifacts import image_contents
from longhaul.artifacts.image_contents import System
from longhaul.artifacts.layout import build_image
from longhaul.artifacts.oci import Image, write_layout
from longhaul.toolchain.errors import SetupError
from tests.support.programs import write_program

BUSYBOX = "#!/bin/sh\nprintf 'nc\\nsh\\n'\n"
PROGRAMS = ("sh", "bash", "curl", "dig", "nc.openbsd", "ss", "iperf", "ipcs", "wget", "nslookup", "/agnhost-2")


def unpacked(image: Image, into: Path) -> Path:
    """Return the root that a node makes of an image."""
    write_layout(into / "layout", [image], arch="amd64")
    blobs = into / "layout" / "blobs" / "sha256"
    (listed,) = json.loads((into / "layout" / "index.json").read_bytes())["manifests"]
    manifest = json.loads((blobs / listed["digest"].removeprefix("sha256:")).read_bytes())
    (layer,) = manifest["layers"]
    with tarfile.open(blobs / layer["digest"].removeprefix("sha256:")) as tar:
        assert {(entry.uid, entry.gid) for entry in tar} == {(0, 0)}
        assert len(set(tar.getnames())) == len(tar.getnames())
        tar.extractall(into / "root", filter="fully_trusted")
    return into / "root"


def test_a_system_is_completed(tmp_path: Path) -> None:
    root = tmp_path / "system"
    write_program(root / "usr/bin/busybox", BUSYBOX)
    write_program(root / "usr/bin/nc.openbsd", "")
    (root / "usr/share/doc/nc").mkdir(parents=True)
    system = System(
        packages=("busybox-static",),
        folders=("uploads",),
        links={"usr/bin/nc": "nc.openbsd"},
        users={"root": 0, "one": 1000},
        groups={"more": (50000, "one")},
    )
    container_system.complete(root, system)
    binary = write_program(tmp_path / "thing", "")
    found = unpacked(Image(name="thing:1", binary=binary, entrypoint=("/thing",), system=root), tmp_path)
    assert (found / "usr/bin/sh").readlink() == Path("busybox")
    assert (found / "usr/bin/nc").readlink() == Path("nc.openbsd"), "a program of a package comes first"
    assert (found / "uploads").is_dir()
    assert not (found / "usr/share/doc").exists()
    assert (found / "etc/passwd").read_text() == "root:x:0:0::/:/bin/sh\none:x:1000:1000::/:/bin/sh\n"
    assert (found / "etc/group").read_text() == "root:x:0:\none:x:1000:\nmore:x:50000:one\n"


def test_only_images_of_labs_have_packages(tmp_path: Path) -> None:
    text = (image_contents.repository() / "images/image.toml").read_text(encoding="utf-8")
    (tmp_path / "images").mkdir()
    shutil.copy(image_contents.repository() / "images/operating_systems.toml", tmp_path / "images")
    (tmp_path / "images/image.toml").write_text(text.replace("lab_only = true\n", ""), encoding="utf-8")
    with pytest.raises(SetupError, match="has packages, which only images of labs may have"):
        image_contents.load(tmp_path)


@pytest.mark.image
def test_agnhost_has_the_programs_users_and_files_of_kubernetes_own(tmp_path: Path) -> None:
    listed = image_contents.load()
    (wanted,) = (image for image in listed.images if image.tool == "agnhost")
    around = tools.ensure(["agnhost"], log_dir=tmp_path, progress=print)
    under = base_system.ensure(listed, log_dir=tmp_path, progress=print)
    system = container_system.ensure(wanted, wanted=listed, around=around, base=under, log_dir=tmp_path, progress=print)
    root = unpacked(build_image(wanted, binary=around["agnhost"], system=system), tmp_path)

    # With /proc, as in a pod: Debian's busybox runs itself by it, and its own programs instead of those of packages.
    proc = root / "proc"
    proc.mkdir(exist_ok=True)

    def inside(script: str) -> str:
        alone = ["unshare", "--mount", "--pid", "--fork", f"--mount-proc={proc}"]
        words = [*alone, "chroot", str(root), "/bin/sh", "-c", script]
        return subprocess.run(words, check=True, capture_output=True, text=True).stdout

    assert inside(f"for one in {' '.join(PROGRAMS)}; do command -v $one || echo no $one; done").count("no ") == 0
    assert "OpenBSD netcat" in inside("nc -h 2>&1")
    assert inside("/agnhost-2 --version").startswith("app version ")
    for words in ("curl --version", "dig -v", "ss -V", "bash --version", "ipcs -V"):
        assert inside(f"{words} 2>&1")
    assert "groups=1000(user-defined-in-image),50000(group-defined-in-image)" in inside("id user-defined-in-image")
    assert inside("ls -d /uploads /localhost.crt /localhost.key").split() == [
        "/localhost.crt",
        "/localhost.key",
        "/uploads",
    ]
