"""The host's own apt installs packages from the depot, which needs nothing but a folder of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from longhaul.artifacts.oci import write_layout
from longhaul.artifacts.serving import served
from longhaul.toolchain import archive, debian
from longhaul.toolchain.errors import SetupError
from longhaul.toolchain.spec import machine_arch
from tests.longhaul.depot.conftest import MakeDeb
from tests.support.gpg import end_agent, gpg, needs_gpg, new_key

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


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """Home of gpg, whose agent ends with the test."""
    yield tmp_path / "gpg"
    end_agent(tmp_path / "gpg")


@needs_gpg
@pytest.mark.parametrize("signer", ["archive", "stranger"])
def test_of_a_distribution_only_its_own_keys_signature_is_believed(
    tmp_path: Path, depot: Path, home: Path, signer: str
) -> None:
    """The mirror has a key that signs it in ``InRelease``, as Ubuntu's archive has, and apt itself judges."""
    mirror, key = depot / "debian" / "bookworm", tmp_path / "archive.asc"
    keys = {name: new_key(home, name) for name in ("archive", "stranger")}
    key.write_text(keys["archive"])
    gpg(home, "--local-user", signer, "--clear-sign", "--output", f"{mirror}/InRelease", f"{mirror}/Release")
    (mirror / "Release").unlink()
    base, into = tmp_path / "base", tmp_path / "into"
    (base / "rootfs/var/lib/dpkg").mkdir(parents=True)
    (base / "rootfs/var/lib/dpkg/status").touch()
    (base / "sources.list").write_text(f"deb copy:{mirror} ./\n")
    into.mkdir()
    if signer == "archive":
        debian.download(base, ["unwanted"], into=into, log=tmp_path / "log", key=key)
        assert [path.name for path in into.iterdir()] == ["unwanted_1_all.deb"]
    else:
        with pytest.raises(SetupError, match="NO_PUBKEY"):
            debian.download(base, ["unwanted"], into=into, log=tmp_path / "log", key=key)


def test_the_same_packages_make_the_same_index(depot: Path) -> None:
    folder = depot / "debian" / "bookworm"
    before = {name: (folder / name).read_bytes() for name in ("Packages", "Packages.gz", "Release")}
    archive.index(folder, suite="bookworm", arch=machine_arch())
    assert {name: (folder / name).read_bytes() for name in before} == before
