"""Images come from a registry by digest, with the real client; the registry is one of our depots on loopback."""

from __future__ import annotations

import hashlib
import json
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from longhaul.artifacts.depot_content import Pull
from longhaul.artifacts.image_pulls import Pulled, add, images_of, pull
from longhaul.artifacts.oci import Image, write_layout
from longhaul.artifacts.serving import served
from longhaul.toolchain import tools
from longhaul.toolchain.errors import SetupError
from longhaul.toolchain.spec import machine_arch

pytestmark = pytest.mark.engine

ARCH = machine_arch()


@dataclass
class Bench:
    root: Path
    registry: str
    digest: str
    crane: Path

    def pull(self, *, repository: str = "team/train", digest: str = "", registry: str = "") -> Pulled:
        wanted = Pull(name=f"{registry or self.registry}/{repository}:v1", digest=digest or self.digest)
        return pull(wanted, crane=self.crane, arch=ARCH, log=self.root / "log", progress=print)


@pytest.fixture(scope="module")
def crane(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tools.ensure(["crane"], log_dir=tmp_path_factory.mktemp("log"), progress=print)["crane"]


@pytest.fixture
def bench(tmp_path: Path, crane: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    monkeypatch.setenv("LONGHAUL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HOME", str(tmp_path))
    origin = tmp_path / "origin"
    (tmp_path / "train").write_bytes(b"a program")
    image = Image(name="registry.example/team/train:v1", binary=tmp_path / "train", entrypoint=("/train",))
    write_layout(origin / "images", [image], arch=ARCH)
    for name in ("binaries", "debian"):
        (origin / name).mkdir()
    ((_, digest),) = images_of(origin / "images")
    with served(origin) as address:
        yield Bench(root=tmp_path, registry=address.removeprefix("http://"), digest=digest, crane=crane)


def test_an_image_is_pulled_and_becomes_part_of_a_layout_as_it_was(bench: Bench) -> None:
    layout = bench.root / "depot"
    write_layout(layout, [], arch=ARCH)
    add(layout, bench.pull())
    assert list(images_of(layout)) == [(f"{bench.registry}/team/train:v1", bench.digest)]
    blobs = {path.name: path.read_bytes() for path in (layout / "blobs/sha256").iterdir()}
    assert {name: hashlib.sha256(content).hexdigest() for name, content in blobs.items()} == {n: n for n in blobs}
    manifest = json.loads(blobs[bench.digest.removeprefix("sha256:")])
    assert {entry["digest"].removeprefix("sha256:") for entry in (manifest["config"], *manifest["layers"])} < set(blobs)


def test_what_is_cached_is_not_asked_for(bench: Bench) -> None:
    first = bench.pull()
    again = pull(
        Pull(name=first.name, digest=bench.digest),
        crane=bench.root / "none",
        arch=ARCH,
        log=bench.root / "log",
        progress=print,
    )
    assert again == first


def test_a_cached_image_that_was_changed_is_refused(bench: Bench) -> None:
    pulled = bench.pull()
    blob = next((pulled.layout / "blobs/sha256").iterdir())
    blob.chmod(0o644)
    blob.write_bytes(b"evil")
    with pytest.raises(SetupError, match=r"was changed since it was pulled: remove "):
        bench.pull()


def test_a_digest_that_the_registry_does_not_have_is_said(bench: Bench) -> None:
    absent = f"sha256:{'0' * 64}"
    with pytest.raises(SetupError, match=f"its registry has no image with the digest {absent}"):
        bench.pull(digest=absent)
    assert not list((bench.root / "cache" / "containers").glob("[!.]*"))


def test_an_image_that_is_not_what_its_digest_says_is_refused(bench: Bench) -> None:
    """The registry lies, or somebody in between does."""
    blob = bench.root / "origin/images/blobs/sha256" / bench.digest.removeprefix("sha256:")
    blob.write_bytes(blob.read_bytes() + b" ")
    with pytest.raises(SetupError, match="does not match requested digest"):
        bench.pull()


def test_a_registry_that_is_not_there_is_said(bench: Bench) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        closed = f"127.0.0.1:{listener.getsockname()[1]}"
    with pytest.raises(SetupError, match="its registry cannot be reached"):
        bench.pull(registry=closed)
