"""The host's own apt installs packages from the depot, which needs nothing but a folder of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from longhaul.depot.oci import write_layout
from longhaul.depot.serving import served
from longhaul.toolchain import archive, debian
from longhaul.toolchain.errors import SetupError
from longhaul.toolchain.spec import machine_arch
from tests.longhaul.depot.conftest import MakeDeb

INSTALLED = """\
Package: other
Status: install ok installed
Maintainer: Nobody <nobody@example.org>
Architecture: all
Version: {version}
Description: made up

"""


@pytest.fixture
def depot(tmp_path: Path, make_deb: MakeDeb) -> Path:
    root = tmp_path / "depot"
    archives = root / "debian" / "bookworm"
    make_deb(archives, "thing", "1.0", depends="other (>= 2)")
    make_deb(archives, "other", "2.0~rc1")
    make_deb(archives, "other", "2.1")
    make_deb(archives, "unwanted", "1")
    archive.index(archives, suite="bookworm", arch=machine_arch())
    (root / "binaries").mkdir()
    write_layout(root / "images", [], arch=machine_arch())
    return root


def fetched(tmp_path: Path, address: str, packages: list[str], *, status: str = "") -> set[str]:
    """Return the packages that are fetched for a machine with the packages in ``status``."""
    base, into = tmp_path / "base", tmp_path / "into"
    (base / "rootfs/var/lib/dpkg").mkdir(parents=True)
    (base / "rootfs/var/lib/dpkg/status").write_text(status)
    (base / "sources.list").write_text(f"deb [trusted=yes] {address}/debian/bookworm ./\n")
    into.mkdir()
    debian.download(base, packages, into=into, log=tmp_path / "log")
    assert all(path.suffix == ".deb" for path in into.iterdir())
    return {path.name for path in into.iterdir()}


def test_apt_fetches_a_package_and_the_newest_of_what_it_needs(tmp_path: Path, depot: Path) -> None:
    with served(depot) as address:
        assert fetched(tmp_path, address, ["thing"]) == {"thing_1.0_all.deb", "other_2.1_all.deb"}


def test_what_the_base_has_is_not_fetched(tmp_path: Path, depot: Path) -> None:
    with served(depot) as address:
        assert fetched(tmp_path, address, ["thing"], status=INSTALLED.format(version="2.1")) == {"thing_1.0_all.deb"}


def test_a_damaged_package_is_refused(tmp_path: Path, depot: Path) -> None:
    path = depot / "debian" / "bookworm" / "other_2.1_all.deb"
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    with served(depot) as address, pytest.raises(SetupError, match="Hash Sum mismatch"):
        fetched(tmp_path, address, ["thing"])


def test_an_index_that_is_not_the_releases_is_refused(tmp_path: Path, depot: Path) -> None:
    for name in ("Packages", "Packages.gz"):
        (depot / "debian" / "bookworm" / name).write_bytes(b"Package: evil\n")
    with served(depot) as address, pytest.raises(SetupError, match="thing"):
        fetched(tmp_path, address, ["thing"])


def test_the_same_packages_make_the_same_index(depot: Path) -> None:
    folder = depot / "debian" / "bookworm"
    before = {name: (folder / name).read_bytes() for name in ("Packages", "Packages.gz", "Release")}
    archive.index(folder, suite="bookworm", arch=machine_arch())
    assert {name: (folder / name).read_bytes() for name in before} == before
