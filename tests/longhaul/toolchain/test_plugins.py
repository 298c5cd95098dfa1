"""Provider plugins are installed by the checksums in the project's file, or by new ones on which two servers agree."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path

import pytest

from lab import tools
from longhaul.toolchain import plugins
from longhaul.toolchain.download import Downloader
from longhaul.toolchain.errors import SetupError
from longhaul.toolchain.plugin_checksums import ChecksumFile
from longhaul.toolchain.plugin_sources import load_sources, source_of
from longhaul.toolchain.plugins import PluginInstaller, UnavailableError, archives_folder
from longhaul.toolchain.spec import machine_arch
from tests.support.plugin_servers import EXECUTABLE, Answer, PluginServers, archive_of, sha256, urls_of
from tests.support.programs import write_program

VERSION = "1.2.3"
RECORDS = '#!/bin/sh\necho "$@" >>"$RECORD"\n'
ARCHIVE = archive_of("aws")
NAME = f"pulumi-resource-aws-v{VERSION}-linux-{machine_arch()}.tar.gz"
BINARY = NAME.removesuffix(".tar.gz")
LINE = f"{sha256(ARCHIVE)}  {NAME}"
SUMS = {NAME: sha256(ARCHIVE), BINARY: sha256(EXECUTABLE)}
RELEASE, GITHUB, MIRROR = urls_of("aws", VERSION)


@pytest.fixture(scope="module", name="authority")
def _authority(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("authority")


@pytest.fixture(name="servers")
def _servers(authority: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PluginServers]:
    with PluginServers(authority) as servers:
        servers.publish("aws", VERSION)
        for name, value in servers.environ().items():
            monkeypatch.setenv(name, value)
        # The library keeps the proxies that it read first.
        monkeypatch.setattr(urllib.request, "_opener", None)
        yield servers


@dataclass
class Bench:
    """A project's file of checksums, and an engine that records its words."""

    root: Path
    lines: list[str] = field(default_factory=list)
    """Lines that were reported."""

    @property
    def checksums(self) -> ChecksumFile:
        return ChecksumFile(self.root / "plugins.sha256")

    def installer(self, **more: object) -> PluginInstaller:
        engine = write_program(self.root / "pulumi", RECORDS)
        made = PluginInstaller(engine=engine, checksums=self.checksums, progress=self.lines.append)
        return replace(made, **{"environ": {"RECORD": str(self.root / "record")}, **more})  # type: ignore[arg-type]

    def install(self, **more: object) -> None:
        self.installer(**more).install([("aws", VERSION)])

    def recorded(self) -> list[str]:
        record = self.root / "record"
        return record.read_text(encoding="utf-8").split() if record.exists() else []

    def assert_untouched(self) -> None:
        """Nothing was installed, written or left."""
        assert self.recorded() == []
        assert not self.checksums.path.exists()
        assert not (self.root / "cache" / ".installing-plugins").exists()


@pytest.fixture(name="bench")
def _bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.setenv("LONGHAUL_CACHE", str(tmp_path / "cache"))
    return Bench(tmp_path)


def test_two_servers_that_agree_give_a_new_plugin_its_checksum(bench: Bench, servers: PluginServers) -> None:
    bench.install()
    words = bench.recorded()
    assert words[:6] == ["plugin", "install", "resource", "aws", VERSION, "--file"]
    assert Path(words[6]).name == NAME
    assert words[7:] == ["--exact", "--reinstall"]
    text = bench.checksums.path.read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    assert lines == [f"{sha256(EXECUTABLE)}  {BINARY}", LINE]
    assert servers.asked == [RELEASE, MIRROR]
    agreed = [line for line in bench.lines if "agree on its SHA-256" in line and "commit" in line]
    assert len(agreed) == 1
    assert str(bench.checksums.path) in agreed[0]


def test_the_file_is_read_by_sha256sum(bench: Bench, servers: PluginServers) -> None:
    bench.install()
    (bench.root / NAME).write_bytes(ARCHIVE)
    (bench.root / BINARY).write_bytes(EXECUTABLE)
    done = subprocess.run(
        ["sha256sum", "--check", "--strict", bench.checksums.path], cwd=bench.root, capture_output=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, f"{BINARY}: OK\n{NAME}: OK\n".encode())


def test_servers_that_disagree_stop_it(bench: Bench, servers: PluginServers) -> None:
    servers.publish("aws", VERSION, mirrored=b"another")
    with pytest.raises(SetupError, match="two servers disagree, so nothing was installed or written") as raised:
        bench.install()
    assert f"{sha256(ARCHIVE)}  says {RELEASE}" in str(raised.value)
    assert f"{sha256(b'another')}  has the file at {MIRROR}" in str(raised.value)
    assert not isinstance(raised.value, UnavailableError)
    bench.assert_untouched()


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b'{"assets": []}', "GitHub publishes no SHA-256 of it"),
        (json.dumps({"assets": [{"name": NAME, "digest": None}]}).encode(), "GitHub publishes no SHA-256 of it"),
        (b"<html>", "cannot be read"),
        (b'{"assets": 7}', "cannot be read"),
    ],
)
def test_without_a_digest_nothing_is_taken(body: bytes, message: str, bench: Bench, servers: PluginServers) -> None:
    servers.answers[RELEASE] = Answer(body=body)
    with pytest.raises(SetupError, match=message):
        bench.install()
    assert servers.asked == [RELEASE]
    bench.assert_untouched()


@pytest.mark.parametrize(
    ("url", "answer", "message"),
    [
        (MIRROR, Answer(body=ARCHIVE, sent=100), rf"broke off after 100 of {len(ARCHIVE)} bytes"),
        (RELEASE, Answer(body=b'{"assets": []}', sent=3), "broke off after 3 of 14 bytes"),
        (MIRROR, Answer(status=404), rf"get\.pulumi\.com answered HTTP 404 for {MIRROR}"),
        (RELEASE, Answer(status=404), rf"api\.github\.com answered HTTP 404 for {RELEASE}"),
        (RELEASE, Answer(status=403), "GitHub answers 60 such questions an hour to one address"),
        (RELEASE, Answer(status=302, location="https://elsewhere.example/"), "cannot be reached"),
    ],
)
def test_a_server_that_fails_leaves_nothing_and_the_next_run_works(
    url: str, answer: Answer, message: str, bench: Bench, servers: PluginServers
) -> None:
    whole = servers.answers[url]
    servers.answers[url] = answer
    with pytest.raises(UnavailableError, match=message):
        bench.install()
    bench.assert_untouched()
    servers.answers[url] = whole
    bench.install()
    assert bench.recorded()[3] == "aws"


def test_a_redirect_is_followed(bench: Bench, servers: PluginServers) -> None:
    elsewhere = "https://objects.githubusercontent.com/archive"
    servers.answers |= {elsewhere: Answer(body=ARCHIVE), MIRROR: Answer(status=302, location=elsewhere)}
    bench.install()
    assert servers.asked == [RELEASE, MIRROR, elsewhere]


def test_a_server_that_does_not_answer_is_not_waited_for(bench: Bench, servers: PluginServers) -> None:
    held = threading.Event()
    servers.answers[RELEASE] = Answer(held=held)
    try:
        with pytest.raises(UnavailableError, match=r"api\.github\.com cannot be reached \(no answer within 0\.05 s\)"):
            bench.install(downloader=Downloader(answer_s=0.05))
    finally:
        held.set()
    bench.assert_untouched()


def test_a_listed_checksum_needs_no_second_server(bench: Bench, servers: PluginServers) -> None:
    bench.checksums.add({NAME: sha256(ARCHIVE)})
    bench.install()
    assert servers.asked == [GITHUB]
    servers.answers[GITHUB] = Answer(body=ARCHIVE, sent=10)
    bench.install()
    assert servers.asked[1:] == [GITHUB, MIRROR], "the other server has the same file"
    assert bench.recorded().count("aws") == 2


def test_a_file_that_contradicts_its_listed_checksum_is_refused(bench: Bench, servers: PluginServers) -> None:
    bench.checksums.add({NAME: "0" * 64})
    with pytest.raises(SetupError, match="is not the one in") as raised:
        bench.install()
    assert f"{'0' * 64}  says {bench.checksums.path}" in str(raised.value)
    assert f"{sha256(ARCHIVE)}  has the file at {GITHUB}" in str(raised.value)
    assert (servers.asked, bench.recorded()) == ([GITHUB], [])


def test_offline_takes_an_archive_that_somebody_brought(bench: Bench, servers: PluginServers) -> None:
    with pytest.raises(UnavailableError, match="has no checksum of"):
        bench.install(offline=True)
    bench.checksums.add({NAME: sha256(ARCHIVE)})
    with pytest.raises(UnavailableError, match=f"{NAME} is not in {archives_folder()}"):
        bench.install(offline=True)
    archives_folder().mkdir()
    (archives_folder() / NAME).write_bytes(b"another")
    with pytest.raises(SetupError, match="is not the one in"):
        bench.install(offline=True)
    (archives_folder() / NAME).write_bytes(ARCHIVE)
    bench.install(offline=True)
    assert bench.recorded()[6] == str(archives_folder() / NAME)
    assert (archives_folder() / NAME).exists()
    assert servers.asked == []


def test_only_listed_plugins_are_installed_where_nobody_looks(bench: Bench, servers: PluginServers) -> None:
    with pytest.raises(SetupError, match="so it is not installed"):
        bench.install(only_listed=True)
    assert servers.asked == []
    bench.assert_untouched()


def test_a_long_download_is_reported_as_it_goes(
    bench: Bench, servers: PluginServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plugins, "_STEP", 2 << 20)
    large = archive_of("aws", os.urandom(5 << 20))
    servers.publish("aws", VERSION, released=large)
    bench.install()
    lines = [line for line in bench.lines if "MiB" in line]
    assert lines == [f"plugin aws {VERSION}: {done} of 5 MiB from get.pulumi.com" for done in (0, 2, 4)]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_download_that_is_interrupted_leaves_nothing_to_the_next_run(
    number: signal.Signals, bench: Bench, servers: PluginServers
) -> None:
    whole, held = servers.answers[MIRROR], threading.Event()
    stuck = Answer(body=ARCHIVE, held=held)
    servers.answers[MIRROR] = stuck
    code = (
        "import sys; from pathlib import Path; from longhaul.toolchain.plugin_checksums import ChecksumFile\n"
        "from longhaul.toolchain.plugins import PluginInstaller\n"
        "from longhaul.toolchain.download import Downloader\n"
        "PluginInstaller(engine=Path(sys.argv[1]), checksums=ChecksumFile(Path(sys.argv[2])), progress=print,\n"
        "                downloader=Downloader(answer_s=60)).install([('aws', sys.argv[3])])\n"
    )
    argv = [sys.executable, "-c", code, str(bench.root / "pulumi"), str(bench.checksums.path), VERSION]
    with subprocess.Popen(argv, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as process:
        assert stuck.asked.wait(60)
        process.send_signal(number)
        assert process.wait(60) != 0
    held.set()
    assert not bench.checksums.path.exists()
    servers.answers[MIRROR] = whole
    bench.install()
    assert bench.recorded()[3] == "aws"
    assert not (bench.root / "cache" / ".installing-plugins").exists()


def test_lines_of_other_plugins_stay(bench: Bench, servers: PluginServers) -> None:
    other = {"pulumi-resource-aws-v1.0.0-linux-arm64.tar.gz": "a" * 64}
    bench.checksums.add(other)
    bench.install()
    assert bench.checksums.read() == {**other, **SUMS}
    before = bench.checksums.path.read_bytes()
    bench.checksums.add(other)
    assert bench.checksums.path.read_bytes() == before
    assert {path.name for path in bench.root.glob("*plugins*")} == {"plugins.sha256"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"{'a' * 40}  {NAME}\n", r"plugins\.sha256:1: .* is not a checksum"),
        (f"{LINE}\n{'b' * 64}  {NAME}\n", r"plugins\.sha256:2: .* has another checksum in an earlier line"),
        ("<<<<<<< HEAD\n", r"plugins\.sha256:1: "),
    ],
)
def test_a_file_that_is_no_list_of_checksums_is_refused(
    text: str, message: str, bench: Bench, servers: PluginServers
) -> None:
    bench.checksums.path.write_text(text, encoding="utf-8")
    with pytest.raises(SetupError, match=message):
        bench.install()
    assert (servers.asked, bench.recorded()) == ([], [])
    assert bench.checksums.path.read_text(encoding="utf-8") == text


@pytest.fixture(name="engine", scope="module")
def _engine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the engine of the user's cache: in a bench's own, it would be compiled anew."""
    return tools.ensure(["pulumi"], log_dir=tmp_path_factory.mktemp("log"), progress=print)["pulumi"]


@pytest.mark.engine
def test_the_real_engine_takes_it_and_keeps_nothing_that_was_refused(
    bench: Bench, servers: PluginServers, engine: Path
) -> None:
    home = bench.root / "home"
    environ = {"PULUMI_HOME": str(home)}
    place = home / "plugins" / f"resource-aws-v{VERSION}" / "pulumi-resource-aws"
    bench.checksums.add({NAME: "0" * 64})
    with pytest.raises(SetupError, match="is not the one in"):
        bench.install(engine=engine, environ=environ)
    assert list(home.glob("plugins/*")) == []
    bench.checksums.path.unlink()
    for _ in range(2):
        bench.install(engine=engine, environ=environ)
        assert place.read_bytes() == b"#!/bin/sh\n"
        # The second time takes the place of what somebody put there.
        place.write_bytes(b"another")


def test_pin_plugins_writes_what_both_servers_agree_on_for_all_architectures(
    bench: Bench, servers: PluginServers, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tools, "repository", lambda: bench.root)
    (bench.root / "stacks").mkdir()
    number = version("pulumi-aws")
    source = servers.publish("aws", number)
    assert tools.main(["pin-plugins", "aws"]) == 0
    written = ChecksumFile(bench.root / "stacks" / "plugins.sha256").read()
    for arch in ("amd64", "arm64"):
        assert written.pop(source.archive(number, arch)) == sha256(ARCHIVE)
        assert written.pop(source.executable(number, arch)) == sha256(EXECUTABLE)
    assert written == {}
    servers.publish("aws", number, mirrored=b"another")
    assert tools.main(["pin-plugins", "aws"]) == 1
    assert "two servers disagree" in capsys.readouterr().err


def test_tools_toml_has_the_plugin_of_every_sdk_that_a_program_here_uses() -> None:
    from clouds.registry import clouds

    assert set(load_sources()) == {cloud.provider for cloud in clouds().values() if cloud.provider} | {"kubernetes"}
    with pytest.raises(SetupError, match="has no plugin gcp"):
        source_of("gcp")
