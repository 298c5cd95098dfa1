"""Executables of plugins are compared, and large ones are not read at each start."""

from __future__ import annotations

import hashlib
import io
import os
import tarfile
from pathlib import Path

import pytest

from longhaul.toolchain import plugin_executables
from longhaul.toolchain.errors import SetupError
from longhaul.toolchain.plugin_executables import digest_in_archive, installed_digest, twins

NAME = "pulumi-resource-aws"


def archive(path: Path, **members: bytes) -> Path:
    with tarfile.open(path, "w:gz") as tar:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return path


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.mark.parametrize("name", [NAME, f"./{NAME}"])
def test_the_executable_in_an_archive_has_a_digest(name: str, tmp_path: Path) -> None:
    packed = archive(tmp_path / "a", **{"LICENSE": b"text", name: b"program", "README.md": b"text"})
    assert digest_in_archive(packed, NAME) == sha256(b"program")


def test_what_is_no_archive_of_a_plugin_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match=f"has no file {NAME}"):
        digest_in_archive(archive(tmp_path / "a", other=b""), NAME)
    (tmp_path / "b").write_bytes(b"<html>")
    with pytest.raises(SetupError, match="is not an archive of a plugin"):
        digest_in_archive(tmp_path / "b", NAME)
    whole = archive(tmp_path / "c", **{NAME: os.urandom(9999)}).read_bytes()
    (tmp_path / "d").write_bytes(whole[:5000])
    with pytest.raises(SetupError, match="is not an archive of a plugin"):
        digest_in_archive(tmp_path / "d", NAME)


def test_a_file_is_read_again_once_it_was_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LONGHAUL_CACHE", str(tmp_path / "cache"))
    reads: list[Path] = []

    def read(path: Path) -> str:
        reads.append(path)
        return sha256(path.read_bytes())

    monkeypatch.setattr(plugin_executables, "sha256_file", read)
    path = tmp_path / NAME
    path.write_bytes(b"program")
    os.utime(path, ns=(1, 1))
    assert [installed_digest(path) for _ in range(3)] == [sha256(b"program")] * 3
    assert len(reads) == 1
    # Another file with the same size and time of modification.
    (tmp_path / "other").write_bytes(b"changed")
    os.utime(tmp_path / "other", ns=(1, 1))
    os.replace(tmp_path / "other", path)
    assert installed_digest(path) == sha256(b"changed")
    for note in (tmp_path / "cache").rglob("*.json"):
        note.write_text("{", encoding="utf-8")
    assert installed_digest(path) == sha256(b"changed")
    assert len(reads) == 3


def test_folders_of_other_versions_are_no_twins(tmp_path: Path) -> None:
    folder = tmp_path / "resource-aws-v7.1.0"
    for version in ("7.1.0", "7.1.0+x", "v7.1.0", "7.1", "7.1.1", "7.11.0", "7.1.0-alpha", "7.1.0.partial"):
        (tmp_path / f"resource-aws-v{version}").mkdir()
    (tmp_path / "resource-aws-native-v7.1.0").mkdir()
    names = {path.name.removeprefix("resource-aws-v") for path in twins(folder)}
    assert names == {"7.1.0+x", "v7.1.0", "7.1"}
