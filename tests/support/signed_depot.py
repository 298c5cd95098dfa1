"""A small depot with a binary, a package and an image, signed by a builder, and what an attacker makes of it."""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from longhaul.artifacts.layout import DepotParts, fill
from longhaul.artifacts.manifest import seal
from longhaul.artifacts.oci import Image, copy_of
from longhaul.artifacts.signature import sign
from longhaul.toolchain import archive
from longhaul.toolchain.spec import load, machine_arch
from tests.support.debs import make_deb
from tests.support.gpg import end_agent, new_key

SUITE = "bookworm"
TOOL = "kubelet"
IMAGE = "registry.example/thing:v1"
VERSION = next(tool.version for tool in load().tools if tool.name == TOOL)
BINARY = f"binaries/{TOOL}/{VERSION}/{TOOL}"


@dataclass(frozen=True)
class Key:
    """A key of somebody's, in a gpg of its own."""

    home: Path
    public: str
    """Public half, as the environment's file has it."""

    @property
    def sign(self) -> Callable[[Path], None]:
        return partial(sign, key="somebody", home=self.home)

    def end(self) -> None:
        """End gpg's agent."""
        end_agent(self.home)


def make_key(home: Path) -> Key:
    """Make a key. The folder's path must be short: gpg has sockets in it."""
    new_key(home, "somebody")
    argv = ["gpg", "--homedir", str(home), "--export", "somebody"]
    exported = subprocess.run(argv, capture_output=True, check=True, env=os.environ | {"LC_ALL": "C"}).stdout
    return Key(home, base64.b64encode(exported).decode())


@contextmanager
def two_keys(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Key, Key]]:
    """Give a builder's key, and an attacker's; end their agents."""
    keys = tuple(make_key(tmp_path_factory.mktemp(name) / "g") for name in ("builder", "thief"))
    yield keys[0], keys[1]
    for key in keys:
        key.end()


def make_depot(root: Path, *, content: bytes = b"good", signer: Key | None) -> Path:
    """Fill the folder with a depot whose files all have the ``content`` inside."""
    work = root.with_name(f"{root.name}-parts")
    shutil.rmtree(work, ignore_errors=True)
    debs = work / "debs"
    make_deb(work / "tree", debs, "thing", "1.0", files={"usr/share/thing": content})
    archive.index(debs, suite=SUITE, arch=machine_arch())
    binary = work / TOOL
    binary.write_bytes(b"#!/bin/sh\n# " + content + b"\n")
    binary.chmod(0o755)
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir()
    image = Image(name=IMAGE, binary=binary, entrypoint=(f"/{TOOL}",))
    parts = DepotParts(binaries={TOOL: binary}, archives={SUITE: debs}, images=[image])
    fill(root, parts, place=lambda one, two: copy_of(one, into=two))
    seal(root, {"made": "for a test"}, sign=signer.sign if signer else None)
    return root


def attacks(good: Path, evil: Path, thief: Key) -> Mapping[str, Callable[[Path], None]]:
    """Return what an attacker who serves a depot in place of ``good`` can serve, by name: each fills a folder. ``evil``
    is a depot with all checksums and indexes made anew around a changed binary, package and image."""

    def without_signatures(into: Path) -> None:
        shutil.copytree(evil, into)

    def with_the_old_signatures(into: Path) -> None:
        shutil.copytree(evil, into)
        for name in ("SHA256SUMS.gpg", f"debian/{SUITE}/Release.gpg"):
            shutil.copy(good / name, into / name)

    def with_the_old_lists(into: Path) -> None:
        with_the_old_signatures(into)
        for name in ("SHA256SUMS", f"debian/{SUITE}/Release"):
            shutil.copy(good / name, into / name)

    def with_a_key_of_his_own(into: Path) -> None:
        shutil.copytree(evil, into)
        seal(into, {}, sign=thief.sign)

    def with_the_signed_archive_as_the_list(into: Path) -> None:
        """The key has signed another document, too."""
        shutil.copytree(evil, into)
        for name in ("Release", "Release.gpg"):
            shutil.copy(good / f"debian/{SUITE}/{name}", into / name.replace("Release", "SHA256SUMS"))
        shutil.copy(good / "SHA256SUMS", into / f"debian/{SUITE}/Release")
        shutil.copy(good / "SHA256SUMS.gpg", into / f"debian/{SUITE}/Release.gpg")

    return {
        "nobody's signature": without_signatures,
        "the old signatures": with_the_old_signatures,
        "the old lists": with_the_old_lists,
        "a key of his own": with_a_key_of_his_own,
        "another signed document": with_the_signed_archive_as_the_list,
    }


ATTACKS = (
    "nobody's signature",
    "the old signatures",
    "the old lists",
    "a key of his own",
    "another signed document",
)
