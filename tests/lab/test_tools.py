"""Tools come into the cache whole or not at all: as the pinned download where possible, otherwise built."""

from __future__ import annotations

import hashlib
import io
import json
import os
import socket
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from lab import tools
from longhaul.toolchain.download import Downloader, UnreachableError
from longhaul.toolchain.errors import SetupError
from longhaul.toolchain.spec import Binary, Download, Go, Spec, Tool, machine_arch
from tests.support.loopback import Answering, Asked
from tests.support.programs import write_program

SCRIPT = b"#!/bin/sh\necho thing 1.0\n"

FAKE_GO = r"""#!/bin/sh
# Answers as the go command does, and notes how it was called.
echo "$*" >>"$GO_CALLS"
case "$1 $2" in
  "env GOROOT") dirname "$(dirname "$(readlink -f "$0")")" ;;
  "version ") echo "go version $GO_VERSION linux/amd64" ;;
  "mod download") cat "$GO_DOWNLOAD" ;;
  build*)
    env >"$GO_CALLS.env"
    if [ -n "$GO_FAILS" ]; then echo "$GO_FAILS"; exit 1; fi
    while [ "$1" != -o ]; do shift; done
    printf '#!/bin/sh\necho thing 1.0\n' >"$2" && chmod 755 "$2" ;;
esac
"""


@dataclass
class Bench:
    """A cache of its own, a spec with one tool, a stand-in for go, and the messages."""

    root: Path
    monkeypatch: pytest.MonkeyPatch
    said: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.monkeypatch.setenv("LONGHAUL_CACHE", str(self.root / "cache"))
        self.monkeypatch.delenv("LONGHAUL_TOOLS_FROM", raising=False)
        for name in ("go.mod", "go.sum"):
            path = self.root / "tools" / "thing" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("module thing\n")
        self.go("go1.26.8")

    def go(self, version: str, *, fails: str = "") -> None:
        path = write_program(self.root / "goroot" / "bin" / "go", FAKE_GO)
        self.monkeypatch.setenv("PATH", f"{path.parent}:{os.environ['PATH']}")
        self.monkeypatch.setenv("GO_CALLS", str(self.root / "go-calls"))
        self.monkeypatch.setenv("GO_VERSION", version)
        self.monkeypatch.setenv("GO_FAILS", fails)

    def calls(self) -> str:
        path = self.root / "go-calls"
        return path.read_text() if path.exists() else ""

    def spec(self, *, download: Download | None = None, answer: str = "thing 1.0") -> Spec:
        binary = Binary(name="thing", module="thing", package="example.org/thing", check=("version",), answer=answer)
        tool = Tool(
            name="thing",
            release="thing",
            version="1.0",
            binaries=(binary,),
            downloads={machine_arch(): download} if download else {},
        )
        return Spec(
            go=Go(version="1.26.8", sums={machine_arch(): "h1:right"}), tools=(tool,), modules_dir=self.root / "tools"
        )

    def ensure(self, spec: Spec) -> Path:
        return tools.ensure(["thing"], log_dir=self.root / "log", progress=self.said.append, spec=spec)["thing"]

    def cached(self) -> list[Path]:
        """Return every finished or unfinished folder of the tool."""
        return [path for path in (self.root / "cache" / "thing").glob("*/*") if path.is_dir()]


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    return Bench(root=tmp_path, monkeypatch=monkeypatch)


class Server(Answering):
    """A server of releases on loopback."""

    def __init__(self) -> None:
        super().__init__(self._file)
        self.files: dict[str, bytes] = {}

    def _file(self, asked: Asked) -> tuple[int, bytes]:
        body = self.files.get(asked.target)
        return 404 if body is None else 200, body or b""

    def download(self, content: bytes, *, sha256: str = "", folder: str | None = None) -> Download:
        self.files["/thing"] = content
        return Download(url=f"{self.url}/thing", sha256=sha256 or hashlib.sha256(content).hexdigest(), folder=folder)


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as server:
        yield server


def closed_port() -> str:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return f"127.0.0.1:{listener.getsockname()[1]}"


def test_the_pinned_download_is_taken_and_nothing_built(bench: Bench, server: Server) -> None:
    path = bench.ensure(bench.spec(download=server.download(SCRIPT)))
    assert path.read_bytes() == SCRIPT
    assert os.access(path, os.X_OK)
    assert bench.calls() == ""
    assert json.loads((path.parent / "tool.json").read_text())["source"] == "downloaded"


def test_a_binary_is_taken_out_of_its_folder_in_an_archive(bench: Bench, server: Server) -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name, content in (("thing-1.0/thing", SCRIPT), ("thing-1.0/other", b"not wanted"), ("../thing", b"evil")):
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    path = bench.ensure(bench.spec(download=server.download(packed.getvalue(), folder="thing-1.0")))
    assert path.read_bytes() == SCRIPT
    assert sorted(entry.name for entry in path.parent.iterdir()) == ["thing", "tool.json"]


def test_a_download_that_is_not_the_pinned_one_is_refused_and_not_kept(bench: Bench, server: Server) -> None:
    spec = bench.spec(download=server.download(SCRIPT, sha256="0" * 64))
    with pytest.raises(SetupError, match=r"is not the pinned one.*\n.*0{64}"):
        bench.ensure(spec)
    assert bench.cached() == []
    bench.monkeypatch.setenv("LONGHAUL_TOOLS_FROM", "module")
    assert bench.ensure(spec).exists()


def test_without_a_checksum_nothing_is_downloaded(bench: Bench, server: Server) -> None:
    bench.ensure(bench.spec(download=None))
    assert server.asked == []
    assert "build" in bench.calls()


@pytest.mark.parametrize("why", ["refused", "missing"])
def test_a_release_that_cannot_be_had_is_built(bench: Bench, server: Server, why: str) -> None:
    url = f"http://{closed_port()}/thing" if why == "refused" else f"{server.url}/not-there"
    path = bench.ensure(bench.spec(download=Download(url=url, sha256="0" * 64)))
    assert json.loads((path.parent / "tool.json").read_text())["source"] == "built"
    assert any("building it from its Go module, since 127.0.0.1" in line for line in bench.said)


def test_a_server_that_does_not_answer_is_waited_for_once(bench: Bench) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        host = f"127.0.0.1:{listener.getsockname()[1]}"
        download = Download(url=f"http://{host}/thing", sha256="0" * 64)
        tool = bench.spec(download=download).tools[0]
        downloader = Downloader(answer_s=0.05)
        for _ in range(2):
            with pytest.raises(UnreachableError, match="no answer within"):
                downloader.fetch(tool, download, into=bench.root)
        listener.accept()[0].close()
        listener.setblocking(False)
        with pytest.raises(BlockingIOError):
            listener.accept()


def test_a_build_is_pinned_whatever_the_users_go_settings(bench: Bench) -> None:
    bench.monkeypatch.setenv("GOFLAGS", "-mod=mod")
    bench.monkeypatch.setenv("CGO_ENABLED", "1")
    bench.monkeypatch.setenv("GOWORK", "/elsewhere/go.work")
    bench.ensure(bench.spec())
    env = dict(line.split("=", 1) for line in (bench.root / "go-calls.env").read_text().splitlines() if "=" in line)
    assert env["GOFLAGS"] == "-mod=readonly -trimpath -buildvcs=false"
    assert (env["CGO_ENABLED"], env["GOWORK"], env["GOTOOLCHAIN"]) == ("0", "off", "local")


def test_a_second_run_asks_neither_a_server_nor_a_compiler(bench: Bench, server: Server) -> None:
    spec = bench.spec(download=server.download(SCRIPT))
    first = bench.ensure(spec)
    bench.go("go1.26.8", fails="must not be called")
    server.asked.clear()
    assert bench.ensure(spec) == first
    assert server.asked == []
    assert bench.calls() == ""


@pytest.mark.parametrize("name", ["go.mod", "go.sum", "main.go"])
def test_a_changed_file_of_its_module_makes_another_entry(bench: Bench, name: str) -> None:
    spec = bench.spec()
    first = bench.ensure(spec)
    (bench.root / "tools" / "thing" / name).write_text("something else\n")
    second = bench.ensure(spec)
    assert first != second
    assert first.exists()


def test_a_binary_of_another_version_is_not_kept(bench: Bench) -> None:
    with pytest.raises(SetupError, match=r"says 'thing 1\.0', not 'thing 2\.0'"):
        bench.ensure(bench.spec(answer="thing 2.0"))
    assert bench.cached() == []


@pytest.mark.parametrize(
    ("output", "says"),
    [
        ("dial tcp: lookup proxy.example on 10.0.0.1: no such host", "nor a Go module registry can be reached"),
        ("write $WORK/b001/x.a: no space left on device", "is full"),
        ("thing.go:3: syntax error", "syntax error"),
    ],
)
def test_a_failed_build_says_why_and_where_its_log_is_and_leaves_nothing(bench: Bench, output: str, says: str) -> None:
    bench.go("go1.26.8", fails=output)
    with pytest.raises(SetupError) as caught:
        bench.ensure(bench.spec())
    assert says in str(caught.value)
    assert output in str(caught.value)
    assert output in (bench.root / "log" / "tool-thing.log").read_text()
    assert bench.cached() == []


def test_another_go_fetches_the_pinned_one_and_is_not_used_itself(bench: Bench) -> None:
    bench.go("go1.19.8")
    module = bench.root / "module"
    (module / "bin").mkdir(parents=True)
    (module / "pkg" / "tool").mkdir(parents=True)
    (module / "src").mkdir()
    (module / "src" / "_go.mod").write_text("module std\n")
    (module / "bin" / "go").write_text(FAKE_GO)  # without its executable bit, as it lies in the module cache
    (bench.root / "answer").write_text(json.dumps({"Sum": "h1:right", "Dir": str(module)}))
    bench.monkeypatch.setenv("GO_DOWNLOAD", str(bench.root / "answer"))
    bench.ensure(bench.spec())
    fetched = next((bench.root / "cache" / "go" / "1.26.8").iterdir())
    assert (fetched / "src" / "go.mod").read_text() == "module std\n"
    assert f"GOROOT={fetched}" in (bench.root / "go-calls.env").read_text().splitlines()


def test_a_compiler_that_is_not_the_pinned_one_is_refused(bench: Bench) -> None:
    bench.go("go1.19.8")
    (bench.root / "answer").write_text(json.dumps({"Sum": "h1:wrong", "Dir": "/"}))
    bench.monkeypatch.setenv("GO_DOWNLOAD", str(bench.root / "answer"))
    with pytest.raises(SetupError, match=r"has the sum h1:wrong, tools\.toml says h1:right"):
        bench.ensure(bench.spec())


def test_bin_dir_leads_to_every_tool(bench: Bench) -> None:
    spec = bench.spec()
    path = bench.ensure(spec)
    assert (tools.bin_dir(spec=spec) / "thing").resolve() == path


def test_an_unknown_tool_is_named_with_what_there_is(bench: Bench) -> None:
    with pytest.raises(SetupError, match=r"has no etcdd\. It has: thing"):
        tools.ensure(["thing", "etcdd"], log_dir=bench.root, progress=bench.said.append, spec=bench.spec())
