"""A depot exists whole or not at all, whatever happens while it is made."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from longhaul.artifacts.manifest import seal, verify
from longhaul.depot.publish import publish
from longhaul.toolchain.errors import SetupError


def making(content: bytes) -> Callable[[Path], None]:
    def make(into: Path) -> None:
        (into / "file").write_bytes(content)
        seal(into, {})

    return make


def put(to: Path, content: bytes) -> bool:
    return publish(to, making(content), progress=print)


def entries(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if path.name != ".depot.lock"}


@pytest.fixture
def to(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "depot"


def test_it_is_new_the_same_or_another(to: Path) -> None:
    assert put(to, b"one")
    assert not put(to, b"one")
    assert put(to, b"two")
    assert (to / "file").read_bytes() == b"two"
    assert entries(to.parent) == {"depot"}


def test_everybody_may_read_it_whatever_umask_its_maker_has(to: Path) -> None:
    def make(folder: Path) -> None:
        (folder / "deep").mkdir()
        (folder / "deep" / "file").write_bytes(b"one")

    mask = os.umask(0o077)
    try:
        assert publish(to, make, progress=print)
    finally:
        os.umask(mask)
    modes = {path.name: path.stat().st_mode & 0o777 for path in (to, to / "deep", to / "deep" / "file")}
    assert modes == {"depot": 0o755, "deep": 0o755, "file": 0o644}


def test_an_empty_folder_is_taken(to: Path) -> None:
    to.mkdir(parents=True)
    assert put(to, b"one")


def test_a_damaged_one_is_replaced_by_the_same(to: Path) -> None:
    put(to, b"one")
    (to / "file").write_bytes(b"bad")
    assert put(to, b"one")
    assert verify(to).good


def test_one_that_cannot_be_made_leaves_the_old_one(to: Path) -> None:
    put(to, b"one")

    def fails(into: Path) -> None:
        (into / "file").write_bytes(b"half")
        raise SetupError("no")

    with pytest.raises(SetupError, match="no"):
        publish(to, fails, progress=print)
    assert (to / "file").read_bytes() == b"one"
    assert entries(to.parent) == {"depot"}


def test_a_killed_run_leaves_the_old_one_and_the_next_cleans_up(to: Path) -> None:
    put(to, b"one")
    program = (
        "import os, signal, sys; from pathlib import Path; from longhaul.depot.publish import publish\n"
        "def make(into):\n"
        "    (into / 'file').write_bytes(b'half')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "publish(Path(sys.argv[1]), make, progress=print)\n"
    )
    done = subprocess.run([sys.executable, "-c", program, str(to)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert entries(to.parent) == {"depot", ".depot.part"}
    assert (to / "file").read_bytes() == b"one"
    assert put(to, b"two")
    assert entries(to.parent) == {"depot"}


def test_one_killed_between_the_two_renames_is_put_right(to: Path) -> None:
    put(to, b"one")
    to.rename(to.parent / ".depot.old")
    assert not put(to, b"one")
    assert entries(to.parent) == {"depot"}


@pytest.mark.parametrize("kind", ["folder", "file", "link"])
def test_what_is_somebody_elses_is_left_alone(to: Path, kind: str) -> None:
    to.parent.mkdir()
    if kind == "folder":
        to.mkdir()
        (to / "thesis").touch()
    elif kind == "file":
        to.touch()
    else:
        to.symlink_to(to.parent)
    with pytest.raises(SetupError, match=r"is not a (folder|depot)"):
        put(to, b"one")
    assert entries(to.parent) == {"depot"}
    assert kind != "folder" or (to / "thesis").exists()


def test_a_mounted_disk_is_not_exchanged(to: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    to.mkdir(parents=True)
    monkeypatch.setattr(Path, "is_mount", lambda path: path == to)
    with pytest.raises(SetupError, match="name a folder below it"):
        put(to, b"one")


def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SetupError, match="making the depot"):
        put(tmp_path / "file" / "depot", b"one")
