"""Missing host packages are installed with apt; when none is missing, apt is not run."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lab import packages
from lab.packages import Package
from longhaul.toolchain.cache import locked
from longhaul.toolchain.errors import SetupError
from tests.support.programs import write_program

THERE = Package(name="coreutils", shows="ls")
KEYRING = Package(name="base-files", shows="/etc/os-release")
THING = Package(name="thing", shows="thing-command")

APT_GET = """#!/bin/sh
echo "$*" >>"$APT_CALLS"
case "$*" in
  *install*) [ -z "$APT_FAILS" ] || { echo "$APT_FAILS"; exit 100; }
    printf '#!/bin/sh\\n' >"$(dirname "$0")/thing-command"; chmod 755 "$(dirname "$0")/thing-command" ;;
esac
"""


@pytest.fixture
def apt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """File with the calls of a stand-in for apt, which is first on PATH."""
    commands = tmp_path / "bin"
    for name, text in (("apt-get", APT_GET), ("dpkg", "#!/bin/sh\n"), ("dpkg-query", "#!/bin/sh\n")):
        write_program(commands / name, text)
    monkeypatch.setenv("PATH", f"{commands}:{os.environ['PATH']}")
    monkeypatch.setenv("APT_CALLS", str(tmp_path / "calls"))
    monkeypatch.setenv("APT_FAILS", "")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    return tmp_path / "calls"


def test_nothing_is_asked_of_apt_when_all_is_there(apt: Path, tmp_path: Path) -> None:
    assert packages.ensure((THERE, KEYRING), log_dir=tmp_path, progress=print) == ()
    assert not apt.exists()


def test_only_what_is_missing_is_installed_without_recommendations(apt: Path, tmp_path: Path) -> None:
    said: list[str] = []
    assert packages.ensure((THERE, THING), log_dir=tmp_path, progress=said.append) == ("thing",)
    update, install = apt.read_text().splitlines()
    assert update.endswith("update")
    assert install.endswith("install --no-install-recommends thing")
    assert said == ["installing thing"]


def test_of_two_that_ask_at_once_one_installs(apt: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LONGHAUL_CACHE", str(tmp_path))
    waits = threading.Event()

    def say(text: str) -> None:
        if "waiting" in text:
            waits.set()

    with ThreadPoolExecutor() as pool:
        with locked(tmp_path / "packages.lock", waiting=lambda: None):
            asked = [pool.submit(packages.ensure, (THING,), log_dir=tmp_path, progress=say) for _ in range(2)]
            assert waits.wait(timeout=60)
        assert [one.result() for one in asked] == [("thing",), ("thing",)]
    assert apt.read_text().count(" install ") == 1


def test_the_pinned_host_packages_start_no_service() -> None:
    """These would start a service where they are installed (seen on a real machine); they belong in the image."""
    names = {package.name for package in (*packages.HOST, *packages.GO)}
    assert names.isdisjoint({"dnsmasq", "haproxy", "strongswan", "charon-systemd", "openssh-server", "ifupdown"})


@pytest.mark.parametrize(
    ("output", "says"),
    [
        ("Temporary failure resolving 'deb.example'", "no package archive can be reached"),
        ("dpkg: error: No space left on device", "is full"),
        ("E: Unable to locate package thing", "by hand"),
    ],
)
def test_a_failed_installation_says_why_and_where_its_log_is(
    apt: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, output: str, says: str
) -> None:
    monkeypatch.setenv("APT_FAILS", output)
    with pytest.raises(SetupError) as caught:
        packages.ensure((THING,), log_dir=tmp_path, progress=print)
    assert says in str(caught.value)
    assert output in str(caught.value)
    assert str(tmp_path / "packages.log") in str(caught.value)


def test_without_root_it_says_what_root_must_install(
    apt: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(SetupError, match=r"packages thing are missing.*run it as root"):
        packages.ensure((THING,), log_dir=tmp_path, progress=print)
    assert not apt.exists()


def test_another_system_is_told_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SetupError, match=r"no apt.*thing-command \(Debian's thing\)"):
        packages.ensure((THING,), log_dir=tmp_path, progress=print)
