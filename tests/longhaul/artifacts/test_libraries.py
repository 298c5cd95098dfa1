"""The image of a tool that is not static gets its libraries from another system's folder, not from this machine."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from longhaul.artifacts.oci import Image, write_layout
from longhaul.toolchain.debian import libraries
from longhaul.toolchain.errors import SetupError

LIST = """\
/.
/lib
/lib/x86_64-linux-gnu
/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2
/lib/x86_64-linux-gnu/libc.so.6
/lib64/ld-linux-x86-64.so.2
/usr/lib/x86_64-linux-gnu/gconv/UTF-16.so
/usr/lib/x86_64-linux-gnu/libm.so.6
/usr/share/doc/libc6/copyright
"""


@pytest.fixture(name="root")
def _root(tmp_path: Path) -> Path:
    """A system where /lib and /usr/lib are one folder, and where the path to the loader is a link that is valid only
    inside it."""
    root = tmp_path / "system"
    folder = root / "usr/lib/x86_64-linux-gnu"
    for name in ("ld-linux-x86-64.so.2", "libc.so.6", "libm-2.36.so"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"content of {name}")
    (folder / "libm.so.6").symlink_to("libm-2.36.so")
    (root / "lib").symlink_to("usr/lib")
    (root / "lib64").mkdir()
    (root / "lib64/ld-linux-x86-64.so.2").symlink_to("/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2")
    lists = root / "var/lib/dpkg/info"
    lists.mkdir(parents=True)
    (lists / "libc6:amd64.list").write_text(LIST)
    (lists / "libc6-dev:amd64.list").write_text("/usr/lib/x86_64-linux-gnu/libother.so\n")
    return root


def test_a_packages_libraries_are_found_and_links_followed_inside_the_system(root: Path) -> None:
    found = libraries(root, ["libc6"])
    assert {name: path.read_text() for name, path in found.items()} == {
        "lib/x86_64-linux-gnu/ld-linux-x86-64.so.2": "content of ld-linux-x86-64.so.2",
        "lib/x86_64-linux-gnu/libc.so.6": "content of libc.so.6",
        "lib/x86_64-linux-gnu/libm.so.6": "content of libm-2.36.so",
        "lib64/ld-linux-x86-64.so.2": "content of ld-linux-x86-64.so.2",
    }


def test_a_package_that_the_system_lacks_is_named(root: Path) -> None:
    with pytest.raises(SetupError, match=r"has no libraries of the package libc7; list it in `packages\.bare`"):
        libraries(root, ["libc6", "libc7"])


def test_they_are_in_the_image_with_their_folders(root: Path, tmp_path: Path) -> None:
    binary = tmp_path / "thing"
    binary.write_bytes(b"\x7fELF of no program")
    image = Image(name="a/b:c", binary=binary, entrypoint=("/thing",), libraries=libraries(root, ["libc6"]))
    write_layout(tmp_path / "layout", [image], arch="amd64")
    layer = max((tmp_path / "layout/blobs/sha256").iterdir(), key=lambda path: path.stat().st_size)
    with tarfile.open(layer) as tar:
        names = tar.getnames()
        assert {"thing", "tmp", *image.libraries} <= set(names)
        assert len(names) == len(set(names))
        for name in image.libraries:
            assert tar.getmember(name).mode == 0o755
            assert names.index(str(Path(name).parent)) < names.index(name)
        tar.extractall(tmp_path / "out", filter="data")
    assert (tmp_path / "out/lib64/ld-linux-x86-64.so.2").read_text() == "content of ld-linux-x86-64.so.2"
