"""An entry of the cache is made once and completely, even if a process is killed while making it."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from longhaul.toolchain.cache import ensure_folder
from longhaul.toolchain.errors import SetupError


def test_two_at_once_make_an_entry_once(tmp_path: Path) -> None:
    made: list[int] = []
    waiting = threading.Event()

    def make(into: Path) -> None:
        made.append(1)
        assert waiting.wait(30), "the other one did not come"
        (into / "file").touch()

    def ensure() -> None:
        ensure_folder(tmp_path / "entry", make, what="entry", progress=lambda _: waiting.set())

    threads = [threading.Thread(target=ensure) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1
    assert (tmp_path / "entry" / "file").exists()


@pytest.mark.parametrize("fault", [KeyboardInterrupt, RuntimeError])
def test_an_interrupted_entry_leaves_nothing(tmp_path: Path, fault: type[BaseException]) -> None:
    def make(into: Path) -> None:
        (into / "half").touch()
        raise fault

    with pytest.raises(fault):
        ensure_folder(tmp_path / "entry", make, what="entry", progress=print)
    assert [path for path in tmp_path.iterdir() if path.is_dir()] == []


def test_what_a_killed_process_left_is_removed_and_made_again(tmp_path: Path) -> None:
    program = (
        "import signal, sys; from pathlib import Path; from longhaul.toolchain.cache import ensure_folder\n"
        "def make(into):\n"
        "    (into / 'half').touch(); print('making', flush=True); signal.pause()\n"
        "ensure_folder(Path(sys.argv[1]), make, what='entry', progress=print)\n"
    )
    place = tmp_path / "entry"
    with subprocess.Popen([sys.executable, "-c", program, str(place)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"making\n"
        process.send_signal(signal.SIGKILL)
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] != []
    ensure_folder(place, lambda into: (into / "whole").touch(), what="entry", progress=print)
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == ["entry"]
    assert [path.name for path in place.iterdir()] == ["whole"]


def test_a_full_disk_is_said(tmp_path: Path) -> None:
    def make(into: Path) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(SetupError, match=r"entry: the disk that holds .* is full"):
        ensure_folder(tmp_path / "entry", make, what="entry", progress=print)
