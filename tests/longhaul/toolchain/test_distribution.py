"""Distributions that images are made of: what images/image.toml chooses, and whose signatures are believed."""

from __future__ import annotations

from pathlib import Path

import pytest

from longhaul.artifacts import image_contents
from longhaul.toolchain import debian
from longhaul.toolchain.distribution import DEBIAN, UBUNTU, Distribution
from longhaul.toolchain.errors import SetupError
from tests.support.gpg import gpg, needs_gpg


def test_the_default_is_debian_and_the_same_file_has_ubuntu() -> None:
    found, other = image_contents.load(), image_contents.load(distribution="ubuntu")
    assert (found.distribution, found.suite) == (DEBIAN, "bookworm")
    assert (other.distribution, other.suite) == (UBUNTU, "noble")
    assert (found.node, found.gateway, found.node_tools) == (other.node, other.gateway, other.node_tools)
    assert set(found.bare) < set(other.bare)


def test_another_distribution_is_refused_by_name() -> None:
    with pytest.raises(SetupError, match="'fedora' is no distribution that images are made of: debian, ubuntu"):
        image_contents.load(distribution="fedora")


@pytest.mark.parametrize(
    ("of", "suite", "has"),
    [
        (UBUNTU, "noble", ["--components=main,universe", f"--keyring={UBUNTU.key}"]),
        (DEBIAN, "bookworm", ["--components=main"]),
    ],
)
def test_mmdebstrap_is_told_of_components_and_key(
    of: Distribution, suite: str, has: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []

    def runs(argv: list[str], **_: object) -> None:
        told.extend(argv)
        sources = Path(argv[argv.index(suite) + 1]) / "etc/apt/sources.list"
        sources.parent.mkdir(parents=True)
        sources.touch()

    monkeypatch.setattr(debian, "run_logged", runs)
    debian.debootstrap(tmp_path, of=of, suite=suite, packages=["runc"], log=tmp_path / "log")
    assert [word for word in told if word.startswith(("--components", "--keyring"))] == has


@needs_gpg
def test_ubuntus_key_is_the_pinned_one_and_no_other_is_with_it(tmp_path: Path) -> None:
    assert UBUNTU.key is not None
    shown = gpg(tmp_path / "gpg", "--show-keys", "--with-colons", str(UBUNTU.key)).splitlines()
    assert [line.split(":")[9] for line in shown if line.startswith("fpr:")] == [UBUNTU.fingerprint]
