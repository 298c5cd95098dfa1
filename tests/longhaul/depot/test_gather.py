"""A depot is filled from releases, archives and registries on loopback; what was fetched once is not fetched again."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from http.server import SimpleHTTPRequestHandler
from pathlib import Path

import pytest

from longhaul.artifacts.depot_content import DepotContent
from longhaul.artifacts.image_contents import ContainerImage
from longhaul.artifacts.manifest import MANIFEST, DepotReport, verify
from longhaul.depot.gather import DepotSources, assemble, gather
from longhaul.depot.publish import publish
from longhaul.toolchain import archive
from longhaul.toolchain.errors import SetupError
from longhaul.toolchain.spec import Binary, Download, Go, Spec, Tool, machine_arch
from tests.longhaul.depot.conftest import MakeDeb
from tests.support.loopback import listening

TOOL = b"#!/bin/sh\necho tool 1.0\n"


@dataclass
class Bench:
    """Sources on loopback, a cache of its own, and the requests."""

    root: Path
    address: str
    asked: list[str]
    interrupt_at: list[str]
    """Ends of paths. A request for such a path interrupts this process, once for each."""
    said: list[str] = field(default_factory=list)

    @property
    def site(self) -> Path:
        return self.root / "site"

    def sources(self, *, refresh: bool = False) -> DepotSources:
        binary = Binary(name="tool", module="tool", package="example.org/tool", check=("version",), answer="tool 1.0")
        download = Download(url=f"{self.address}/tool", sha256=hashlib.sha256(TOOL).hexdigest())
        tool = Tool(
            name="tool", release="tool", version="1.0", binaries=(binary,), downloads={machine_arch(): download}
        )
        (self.root / "tools" / "tool").mkdir(parents=True, exist_ok=True)
        return DepotSources(
            spec=Spec(go=Go(version="1.26.8", sums={}), tools=(tool,), modules_dir=self.root / "tools"),
            log_dir=self.root / "log",
            progress=self.said.append,
            archives={suite: (f"deb [trusted=yes] {self.address}/{suite} ./",) for suite in ("bookworm", "noble")},
            refresh=refresh,
        )

    def build(self, wanted: DepotContent, *, refresh: bool = False) -> DepotReport:
        sources = self.sources(refresh=refresh)
        parts = gather(wanted, sources)
        found: list[DepotReport] = []
        publish(self.depot, lambda into: found.append(assemble(into, wanted, parts, sources)), progress=print)
        return found[0]

    @property
    def depot(self) -> Path:
        return self.root / "depot"

    def manifest(self) -> dict[str, object]:
        raw: dict[str, object] = json.loads((self.depot / MANIFEST).read_text())
        return raw

    def fetched(self, end: str) -> int:
        return sum(path.endswith(end) for path in self.asked)


@pytest.fixture
def bench(tmp_path: Path, make_deb: MakeDeb, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    monkeypatch.setenv("LONGHAUL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("LONGHAUL_TOOLS_FROM", "download")
    site = tmp_path / "site"
    for suite in ("bookworm", "noble"):
        make_deb(site / suite, "thing", f"1.0~{suite}", depends="other")
        make_deb(site / suite, "other", f"2.0~{suite}")
        archive.index(site / suite, suite=suite, arch=machine_arch())
    (site / "tool").write_bytes(TOOL)
    asked: list[str] = []
    interrupt_at: list[str] = []

    class Handler(SimpleHTTPRequestHandler):
        def __init__(self, *args: object, **more: object) -> None:
            super().__init__(*args, directory=str(site), **more)  # type: ignore[arg-type]

        def do_GET(self) -> None:
            for end in [end for end in interrupt_at if self.path.endswith(end)]:
                interrupt_at.remove(end)
                os.kill(os.getpid(), signal.SIGINT)
            super().do_GET()

        def log_message(self, format: str, *args: object) -> None:
            asked.append(self.path)

    with listening(Handler) as address:
        yield Bench(root=tmp_path, address=address, asked=asked, interrupt_at=interrupt_at)


IMAGE = ContainerImage(tool="tool", name="registry.example/tool", tag="v{version}", entrypoint=("/tool",))
WANTED = DepotContent(
    environment="test",
    sites=("colo",),
    tools=("tool",),
    packages=("thing",),
    suites=("bookworm",),
    pulls=(),
    made=(IMAGE,),
)


def test_a_depot_holds_what_was_wanted_and_says_so(bench: Bench) -> None:
    report = bench.build(WANTED)
    assert report == verify(bench.depot)
    assert (bench.depot / "binaries/tool/1.0/tool").read_bytes() == TOOL
    assert (bench.depot / "binaries/tool/1.0/tool").stat().st_mode & 0o777 == 0o755
    found = bench.manifest()
    assert (found["environment"], found["sites"], found["architecture"]) == ("test", ["colo"], machine_arch())
    assert found["binaries"] == [{"name": "tool", "version": "1.0", "source": "downloaded"}]
    assert found["packages"] == {"bookworm": {"thing": "1.0~bookworm", "other": "2.0~bookworm"}}
    (image,) = found["images"]  # type: ignore[misc]
    assert (image["name"], image["source"]) == ("registry.example/tool:v1.0", "made")
    assert {path.name for path in (bench.depot / "debian/bookworm").iterdir()} == {
        "Packages",
        "Packages.gz",
        "Release",
        "other_2.0~bookworm_all.deb",
        "thing_1.0~bookworm_all.deb",
    }


def test_each_release_has_its_own_packages(bench: Bench) -> None:
    bench.build(replace(WANTED, suites=("bookworm", "noble")))
    assert (bench.depot / "debian/noble/thing_1.0~noble_all.deb").exists()
    assert not list((bench.depot / "debian/noble").glob("*bookworm*"))


def test_a_package_besides_is_in_the_release_that_it_was_asked_for(bench: Bench, make_deb: MakeDeb) -> None:
    make_deb(bench.site / "noble", "driver", "5")
    archive.index(bench.site / "noble", suite="noble", arch=machine_arch())
    bench.build(replace(WANTED, suites=("bookworm", "noble"), extra=(("noble", "driver"),)))
    assert "driver" in bench.manifest()["packages"]["noble"]  # type: ignore[index]
    assert not list((bench.depot / "debian/bookworm").glob("driver*"))


def test_the_depot_shares_no_file_with_the_cache(bench: Bench) -> None:
    bench.build(WANTED)
    assert {path.stat().st_nlink for path in bench.depot.rglob("*") if path.is_file()} == {1}


def test_a_run_that_failed_goes_on_with_what_it_has(bench: Bench) -> None:
    gone = bench.site / "bookworm" / "other_2.0~bookworm_all.deb"
    gone.rename(bench.root / gone.name)
    with pytest.raises(SetupError, match="fetching packages"):
        bench.build(WANTED)
    assert not bench.depot.exists()
    shutil.move(bench.root / gone.name, gone)
    assert bench.build(WANTED).good
    assert bench.fetched("/tool") == 1


def test_a_run_that_was_interrupted_goes_on_with_what_it_has(bench: Bench) -> None:
    bench.interrupt_at.append(".deb")
    # A script that runs tests in the background ignores SIGINT, and so would this process.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            bench.build(WANTED)
    finally:
        signal.signal(signal.SIGINT, before)
    assert not bench.depot.exists()
    assert bench.build(WANTED).good
    assert bench.fetched("/tool") == 1
    assert not list((bench.root / "cache").rglob(".making-*"))


def test_a_second_run_asks_nobody(bench: Bench) -> None:
    first = bench.build(WANTED)
    asked = len(bench.asked)
    assert bench.build(WANTED) == first
    assert len(bench.asked) == asked


def test_archives_are_asked_again_when_that_is_wanted(bench: Bench, make_deb: MakeDeb) -> None:
    bench.build(WANTED)
    make_deb(bench.site / "bookworm", "thing", "1.1", depends="other")
    archive.index(bench.site / "bookworm", suite="bookworm", arch=machine_arch())
    bench.build(WANTED)
    assert "1.1" not in str(bench.manifest()["packages"])
    bench.build(WANTED, refresh=True)
    assert bench.manifest()["packages"] == {"bookworm": {"thing": "1.1", "other": "2.0~bookworm"}}


def test_a_binary_that_was_changed_in_the_cache_is_refused(bench: Bench) -> None:
    bench.build(WANTED)
    (cached,) = (bench.root / "cache").glob("tool/1.0/*/tool")
    cached.write_bytes(b"evil")
    with pytest.raises(SetupError, match=r"tool was changed since it was fetched: remove .*run it again"):
        bench.build(WANTED)
    assert verify(bench.depot).good


def test_a_package_that_was_changed_in_the_cache_is_refused(bench: Bench) -> None:
    bench.build(WANTED)
    (cached,) = (bench.root / "cache").glob("archives/*/thing_*.deb")
    cached.write_bytes(b"evil")
    with pytest.raises(SetupError, match=r"debian/bookworm/thing_1\.0~bookworm_all\.deb: its index has"):
        bench.build(WANTED)
    assert verify(bench.depot).good


def test_a_release_that_no_source_is_known_of_says_how_to_name_one(bench: Bench) -> None:
    with pytest.raises(SetupError, match=r"no archives of jammy .*--sources jammy=FILE"):
        bench.build(replace(WANTED, suites=("jammy",)))


def test_without_apt_it_says_where_to_do_it(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(bench.root))
    with pytest.raises(SetupError, match="has no apt-get"):
        bench.build(replace(WANTED, tools=(), made=()))


def test_an_image_that_is_not_static_gets_its_libraries_from_the_packages(bench: Bench, make_deb: MakeDeb) -> None:
    make_deb(bench.site / "bookworm", "libthing", "1", files={"usr/lib/x86_64-linux-gnu/libthing.so.1": b"library"})
    archive.index(bench.site / "bookworm", suite="bookworm", arch=machine_arch())
    image = replace(IMAGE, libraries=("libthing",))
    bench.build(replace(WANTED, packages=("thing", "libthing"), made=(image,)))
    layers = [path.read_bytes() for path in (bench.depot / "images/blobs/sha256").iterdir()]
    assert any(b"lib/x86_64-linux-gnu/libthing.so.1" in layer and b"library" in layer for layer in layers)
