"""Provider plugins are installed by their checksums in ``tools.toml``, which two servers have agreed on."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import tarfile
import urllib.error
from email.message import Message
from importlib.metadata import version
from pathlib import Path

import pytest

from lab import tools
from longhaul.toolchain import plugin_checksums
from longhaul.toolchain.download import Downloader
from longhaul.toolchain.errors import SetupError
from longhaul.toolchain.plugins import Pin, install, load_pins, pinned
from longhaul.toolchain.spec import machine_arch, repository
from tests.support.programs import write_program

RELEASE = "https://api.github.com/repos/pulumi/pulumi-thing/releases/tags/v1.2.3"
MIRROR = "https://get.pulumi.com/releases/plugins"
RECORDS = '#!/bin/sh\necho "$@" >>"$RECORD"\n'


def archive() -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        member = tarfile.TarInfo("pulumi-resource-thing")
        member.mode, member.size = 0o755, 10
        tar.addfile(member, io.BytesIO(b"#!/bin/sh\n"))
    return packed.getvalue()


ARCHIVE = archive()
SUM = hashlib.sha256(ARCHIVE).hexdigest()


def pin(sha256: str = SUM, *, of: str = "1.2.3") -> Pin:
    return Pin(package="thing", repository="pulumi/pulumi-thing", sha256={of: {machine_arch(): sha256}})


def name(arch: str) -> str:
    return pin().archive("1.2.3", arch)


@pytest.fixture
def internet(monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    """The files of the internet by address: the plugin's archives on both servers, and GitHub's word on them."""
    assets = [{"name": name(arch), "digest": f"sha256:{SUM}"} for arch in plugin_checksums.ARCHES]
    files = {RELEASE: json.dumps({"assets": assets}).encode(), pin().url("1.2.3", machine_arch()): ARCHIVE}
    files |= {f"{MIRROR}/{name(arch)}": ARCHIVE for arch in plugin_checksums.ARCHES}

    def answer(url: str) -> io.BytesIO:
        if url not in files:
            raise urllib.error.HTTPError(url, 404, "Not Found", Message(), None)
        return io.BytesIO(files[url])

    monkeypatch.setattr("longhaul.toolchain.download._urlopen", answer)
    return files


@pytest.fixture(scope="module", name="engine")
def _engine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tools.ensure(["pulumi"], log_dir=tmp_path_factory.mktemp("tools"), progress=print)["pulumi"]


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LONGHAUL_CACHE", str(tmp_path / "cache"))


def installs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wanted: Pin) -> str:
    """Install it with an engine that records its words; return those."""
    record = tmp_path / "record"
    monkeypatch.setenv("RECORD", str(record))
    engine = write_program(tmp_path / "pulumi", RECORDS)
    try:
        install(wanted, "1.2.3", engine=engine, downloader=Downloader(), progress=print)
    finally:
        assert list((tmp_path / "cache").glob(".plugin-*")) == []
    return record.read_text(encoding="utf-8")


def test_a_plugin_is_installed_from_the_file_that_was_checked(
    internet: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = installs(tmp_path, monkeypatch, pin()).split()
    assert words[:5] == ["plugin", "install", "resource", "thing", "1.2.3"]
    assert words[5] == "--file"
    assert Path(words[6]).name == name(machine_arch())
    assert words[7:] == ["--exact", "--reinstall"]


@pytest.mark.parametrize(
    ("wanted", "says"),
    [
        (pin("0" * 64), "is not the pinned one"),
        (pin(of="1.2.2"), "tools.toml has no checksum of the plugin thing 1.2.3"),
    ],
)
def test_a_plugin_without_its_checksum_is_not_installed(
    wanted: Pin, says: str, internet: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SetupError, match=says):
        installs(tmp_path, monkeypatch, wanted)
    assert not (tmp_path / "record").exists()


def test_a_plugin_that_cannot_be_had_is_an_error(
    internet: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    internet.clear()
    with pytest.raises(SetupError, match=r"cannot be fetched: github\.com answered HTTP 404"):
        installs(tmp_path, monkeypatch, pin())


@pytest.mark.engine
def test_the_real_engine_takes_it_and_keeps_nothing_that_was_refused(
    engine: Path, internet: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    monkeypatch.setenv("PULUMI_HOME", str(home))
    with pytest.raises(SetupError, match="is not the pinned one"):
        install(pin("0" * 64), "1.2.3", engine=engine, downloader=Downloader(), progress=print)
    assert list(home.glob("plugins/*")) == []
    place = home / "plugins" / "resource-thing-v1.2.3"
    for _ in range(2):
        install(pin(), "1.2.3", engine=engine, downloader=Downloader(), progress=print)
        assert (place / "pulumi-resource-thing").read_bytes() == b"#!/bin/sh\n"
        # The second time takes the place of what somebody put there.
        (place / "pulumi-resource-thing").write_bytes(b"another")


def test_checksums_are_those_that_both_servers_agree_on(internet: dict[str, bytes]) -> None:
    found = plugin_checksums.checksums(pin(), "1.2.3", downloader=Downloader())
    assert found == {"amd64": SUM, "arm64": SUM}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({f"{MIRROR}/{name('arm64')}": b"another"}, f"{name('arm64')}: GitHub says its SHA-256 is {SUM}"),
        ({RELEASE: b'{"assets": []}'}, "is not known"),
        ({RELEASE: b'{"assets": [{"name": "thing"}]}'}, "is not known"),
        ({RELEASE: b"<html>"}, "cannot be read"),
        ({RELEASE: b'{"assets": 7}'}, "cannot be read"),
    ],
)
def test_without_two_that_agree_there_is_no_checksum(
    change: dict[str, bytes], says: str, internet: dict[str, bytes]
) -> None:
    internet |= change
    with pytest.raises(SetupError, match=says):
        plugin_checksums.checksums(pin(), "1.2.3", downloader=Downloader())


def test_writing_puts_new_checksums_in_the_place_of_old_ones(tmp_path: Path) -> None:
    path = tmp_path / "tools.toml"
    shutil.copy(repository() / "tools.toml", path)
    before = path.read_text(encoding="utf-8")
    for number in ("1.0.0", "2.0.0", "2.0.0"):
        plugin_checksums.write(path, "aws", number, {"amd64": "a" * 64, "arm64": "b" * 64})
    assert load_pins(path)["aws"].sha256 == {"2.0.0": {"amd64": "a" * 64, "arm64": "b" * 64}}
    assert load_pins(path)["kubernetes"] == load_pins()["kubernetes"]
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line not in before.splitlines()]
    assert lines == [f'sha256."2.0.0".amd64 = "{"a" * 64}"', f'sha256."2.0.0".arm64 = "{"b" * 64}"']


def test_writing_what_is_no_checksum_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "tools.toml"
    shutil.copy(repository() / "tools.toml", path)
    with pytest.raises(SetupError, match="64 hexadecimal digits"):
        plugin_checksums.write(path, "aws", "1.0.0", {"amd64": "SHA-1"})
    assert path.read_bytes() == (repository() / "tools.toml").read_bytes()
    assert list(tmp_path.iterdir()) == [path]


def test_tools_toml_has_the_plugin_of_every_sdk_that_a_program_here_uses() -> None:
    from clouds.registry import clouds

    pins = load_pins()
    assert set(pins) == {cloud.provider for cloud in clouds().values() if cloud.provider} | {"kubernetes"}
    for found in pins.values():
        # A checksum of another version is of no use, and hides that the right one is missing.
        assert set(found.sha256) <= {version(f"pulumi-{found.package}")}
    with pytest.raises(SetupError, match="has no plugin gcp"):
        pinned("gcp", pins=pins)
