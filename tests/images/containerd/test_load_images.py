"""Container images of the machine's image are imported into containerd, once."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from containerd import load_images

from lab import tools
from longhaul.artifacts.oci import Image, write_layout
from longhaul.toolchain.spec import machine_arch
from tests.images.archives import write_archive
from tests.support.programs import write_program

LIMIT_S = 60.0

FAKE = """#!/bin/sh
# ctr --namespace k8s.io images list --quiet | import ARCHIVE
echo "$*" >>"$CTR.calls"
case "$4" in
  list) [ -e "$CTR.down" ] && { echo "no socket" >&2; exit 1; }; cat "$CTR.has" ;;
  import) case "$5" in *bad*) echo "cannot unpack" >&2; exit 1 ;; esac ;;
esac
"""


@pytest.fixture(name="ctr")
def _ctr(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand-in for containerd's client. containerd has no image, and three archives wait."""
    ctr = write_program(tmp_path / "ctr", FAKE)
    (tmp_path / "ctr.has").write_text("")
    monkeypatch.setenv("CTR", str(ctr))
    monkeypatch.setattr(load_images, "CTR", (str(ctr), *load_images.CTR[1:]))
    folder = tmp_path / "images"
    write_archive(folder / "a.tar", "example.org/a:1")
    write_archive(folder / "b.tar", "example.org/b:1", "example.org/b:2")
    archives = load_images.archives
    monkeypatch.setattr(load_images, "archives", lambda: archives(folder))
    return ctr


def calls(ctr: Path) -> list[str]:
    return [line.split("images ")[1] for line in Path(f"{ctr}.calls").read_text().splitlines()]


def test_what_containerd_lacks_is_given_to_it(ctr: Path) -> None:
    assert load_images.main() == 0
    folder = ctr.parent / "images"
    assert calls(ctr) == ["list --quiet", f"import {folder / 'a.tar'}", f"import {folder / 'b.tar'}"]


def test_what_it_has_is_left_alone(ctr: Path) -> None:
    Path(f"{ctr}.has").write_text("example.org/a:1\nexample.org/b:1\nexample.org/other:1\n")
    assert load_images.main() == 0
    assert calls(ctr) == ["list --quiet", f"import {ctr.parent / 'images' / 'b.tar'}"]


def test_one_that_is_not_taken_keeps_no_other_out(ctr: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_archive(ctr.parent / "images" / "a-bad.tar", "example.org/bad:1")
    assert load_images.main() == 1
    assert len(calls(ctr)) == 4
    assert "a-bad.tar was not imported: cannot unpack" in capsys.readouterr().err


def test_a_containerd_that_does_not_answer_is_an_error(ctr: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path(f"{ctr}.down").touch()
    assert load_images.main() == 1
    assert "no socket" in capsys.readouterr().err
    assert calls(ctr) == ["list --quiet"]


CONFIG = """version = 3
disabled_plugins = [
  "io.containerd.grpc.v1.cri", "io.containerd.cri.v1.runtime", "io.containerd.cri.v1.images", "io.containerd.nri.v1.nri"
]
[plugins."io.containerd.transfer.v1.local"]
unpack_config = [{ platform = "linux", snapshotter = "native" }]
"""


@pytest.fixture(name="containerd")
def _containerd(tmp_path: Path) -> Iterator[tuple[Path, Path]]:
    """A real containerd in namespaces of its own, with an empty root; its client and its socket."""
    if os.geteuid() != 0:
        pytest.skip("needs root")
    found = tools.ensure(["containerd"], log_dir=tmp_path, progress=print)
    (tmp_path / "config.toml").write_text(CONFIG)
    place = {name: str(tmp_path / name) for name in ("root", "state")}
    argv = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", str(found["containerd"])]
    argv += ["--config", str(tmp_path / "config.toml"), "--address", str(tmp_path / "socket")]
    argv += ["--root", place["root"], "--state", place["state"]]
    with (tmp_path / "log").open("w") as log, subprocess.Popen(argv, stdout=log, stderr=log) as process:
        try:
            yield found["ctr"], tmp_path / "socket"
        finally:
            process.kill()


def await_server(ctr: Path, socket: Path) -> None:
    argv = [str(ctr), "--address", str(socket), "version"]
    deadline = time.monotonic() + LIMIT_S
    while subprocess.run(argv, capture_output=True, check=False).returncode:
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.engine
def test_real_containerd_takes_it_and_runs_by_its_name(
    containerd: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ctr, socket = containerd
    name = "registry.k8s.io/pause:3.10.1"
    pause = tools.ensure(["pause"], log_dir=tmp_path, progress=print)["pause"]
    write_layout(tmp_path / "layout", [Image(name=name, binary=pause, entrypoint=("/pause",))], arch=machine_arch())
    folder = tmp_path / "images"
    folder.mkdir()
    layout = sorted(path.name for path in (tmp_path / "layout").iterdir())
    subprocess.run(["tar", "-C", str(tmp_path / "layout"), "-cf", str(folder / "pause.tar"), *layout], check=True)
    monkeypatch.setattr(load_images, "CTR", (str(ctr), "--address", str(socket), *load_images.CTR[1:]))
    archives = load_images.archives
    monkeypatch.setattr(load_images, "archives", lambda: archives(folder))
    await_server(ctr, socket)
    assert load_images.main() == 0
    listed = [str(ctr), "--address", str(socket), "--namespace", "k8s.io", "images", "list", "--quiet"]
    assert subprocess.run(listed, capture_output=True, text=True, check=True).stdout.split() == [name]
    unpacked = tmp_path / "root" / "io.containerd.snapshotter.v1.native" / "snapshots"
    assert [path for path in unpacked.rglob("pause") if path.is_file()]
    assert load_images.main() == 0
