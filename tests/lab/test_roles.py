"""The image's roles on a real system in a folder: their results and refusals, and that a second run changes nothing."""

from __future__ import annotations

import contextlib
import hashlib
import io
import itertools
import os
import re
import shutil
import socket
import ssl
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from http.server import SimpleHTTPRequestHandler
from pathlib import Path

import pytest

from lab import base_system, depot_authority, image
from lab import depot as build
from lab.ansible.runner import play
from lab.cloud.pki import ensure_pki
from lab.signing import KEY
from longhaul.artifacts import image_contents
from longhaul.artifacts.serving import served
from longhaul.toolchain.cache import remove
from longhaul.toolchain.errors import SetupError
from longhaul.toolchain.process import output_of
from longhaul.toolchain.spec import machine_arch, repository
from longhaul.toolchain.trees import copy_system
from tests.support.gpg import needs_gpg
from tests.support.loopback import listening
from tests.support.signed_depot import ATTACKS, TOOL, Key, attacks, make_depot, two_keys

pytestmark = pytest.mark.image

PLAYBOOK = repository() / "playbooks" / "image.yml"
TAGS = ("upgrades_off", "packages", "binaries", "images", "rootfs", "manifest")
"""Tags of everything that makes a node."""


@dataclass(frozen=True)
class System:
    """A system in a folder, and the log of the plays on it."""

    root: Path
    log: Path

    def play(self, *tags: str, **variables: object) -> int:
        """Play the tags and return the number of tasks that changed something."""
        start = self.log.stat().st_size if self.log.exists() else 0
        play(PLAYBOOK, root=self.root, tags=tags, variables=variables, log=self.log)
        (changed,) = re.findall(r"changed=(\d+)", self.log.read_text()[start:])
        return int(changed)


@pytest.fixture
def bare(tmp_path: Path) -> System:
    """A copy of the base image that may be changed."""
    if os.geteuid() != 0:
        pytest.skip("needs root")
    under = base_system.ensure(image_contents.load(), log_dir=tmp_path, progress=print)
    copy_system(under / "rootfs", tmp_path / "root")
    return System(tmp_path / "root", tmp_path / "log")


def mounts() -> list[str]:
    return Path("/proc/self/mountinfo").read_text().splitlines()


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Copy of the tree that the role installs."""
    shutil.copytree(image.load_sources().tree, tmp_path / "tree", symlinks=True)
    return tmp_path / "tree"


def test_a_second_run_changes_nothing_and_nothing_is_left_mounted(bare: System, tree: Path, tmp_path: Path) -> None:
    before = mounts()
    with served(build.ensure(log_dir=tmp_path, progress=print), tls=depot_authority.server_context()) as depot:
        known = {"depot_key": KEY, "depot_authority": depot_authority.AUTHORITY.read_text()}
        given = {"depot": depot, **known, "rootfs_tree": str(tree)}
        assert bare.play(*TAGS, **given) > 0
        assert bare.play(*TAGS, **given) == 0
    assert mounts() == before
    for name in ("proc", "run", "tmp"):
        assert list((bare.root / name).iterdir()) == []


def processes(word: str) -> list[str]:
    """Return the command lines that contain the word."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            found.append((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
    return [line for line in found if word in line]


def awaited(condition: Callable[[], bool], *, seconds: float = 300.0) -> bool:
    deadline = time.monotonic() + seconds
    while not (found := condition()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return found


def test_a_killed_run_leaves_no_process_and_no_mount(bare: System) -> None:
    before = mounts()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        # The depot never answers, so that the run is killed while apt waits for it.
        depot = f"http://127.0.0.1:{silent.getsockname()[1]}"
        program = (
            "from pathlib import Path; from lab.ansible.runner import play;"
            f"play(Path({str(PLAYBOOK)!r}), root=Path({str(bare.root)!r}), tags=['packages'],"
            f" variables={{'depot': {depot!r}, 'depot_key': {KEY!r}}}, log=Path({str(bare.log)!r}))"
        )
        with subprocess.Popen([sys.executable, "-c", program]) as process:
            try:
                silent.settimeout(300)
                asked, _ = silent.accept()
            finally:
                process.kill()
            asked.close()
        assert awaited(lambda: processes(str(bare.root)) == [])
    assert mounts() == before
    remove(bare.root)
    assert not bare.root.exists()


def test_what_somebody_changed_is_put_right_and_folders_keep_their_mode(bare: System, tree: Path) -> None:
    (tree / "root").mkdir()
    (tree / "root/file").write_text("a")
    content, mode = (bare.root / f"etc/systemd/system/{name}.service" for name in ("etcd", "kube-apiserver"))
    bare.play("rootfs", rootfs_tree=str(tree))
    wanted = content.read_bytes()
    content.write_bytes(b"[Unit]\n")
    mode.chmod(0o600)
    assert bare.play("rootfs", rootfs_tree=str(tree)) > 0
    assert content.read_bytes() == wanted
    assert mode.stat().st_mode & 0o777 == 0o644
    assert (bare.root / "root").stat().st_mode & 0o777 == 0o700


def test_cached_bytecode_never_outlives_its_source(bare: System, tree: Path) -> None:
    """All files of the tree have the same time, so the time cannot show the difference."""
    program = tree / "usr/local/lib/longhaul/thing.py"
    imported = "import sys; sys.path.insert(0, '/usr/local/lib/longhaul'); import thing; print(thing.VALUE)"
    for value in ("1", "2"):
        program.write_text(f"VALUE = {value}\n")
        bare.play("rootfs", rootfs_tree=str(tree))
        assert output_of(["chroot", str(bare.root), "python3", "-c", imported]).strip() == value
    assert list(bare.root.glob("usr/local/lib/longhaul/__pycache__/thing.*.pyc"))


def packed(files: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), 0o755
            tar.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


@pytest.fixture
def releases(tmp_path: Path) -> Iterator[str]:
    """Server of official releases."""
    folder = tmp_path / "releases"
    folder.mkdir()
    (folder / "single").write_bytes(b"single 1.0")
    (folder / "pack.tar.gz").write_bytes(packed({"pack-1.0/first": b"1", "pack-1.0/second": b"2", "other": b"3"}))
    handler = partial(SimpleHTTPRequestHandler, directory=str(folder))
    with listening(handler) as address:
        yield address


def pins(address: str, folder: Path, **changed: str) -> dict[str, object]:
    def download(name: str, more: Mapping[str, str]) -> dict[str, object]:
        sha256 = changed.get(name) or hashlib.sha256((folder / name).read_bytes()).hexdigest()
        return {machine_arch(): {"url": f"{address}/{name}", "sha256": sha256, **more}}

    tools = {
        "single": {"download": download("single", {}), "binary": {"single": {}}},
        "pack": {
            "download": download("pack.tar.gz", {"folder": "pack-{version}"}),
            "binary": {"first": {}, "second": {}},
        },
        "unknown": {"binary": {"unknown": {}}},
    }
    return {"release": {"made-up": {"version": "1.0", "tool": tools}}}


@pytest.fixture(scope="module", name="keys")
def _keys(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Key, Key]]:
    """A builder's key, and an attacker's."""
    with two_keys(tmp_path_factory) as keys:
        yield keys


THING: Mapping[str, object] = {"binaries_tools": [TOOL], "packages_names": ["thing"]}


@needs_gpg
def test_what_a_builder_has_signed_is_installed(bare: System, keys: tuple[Key, Key], tmp_path: Path) -> None:
    pki = ensure_pki(tmp_path / "pki", ("127.0.0.1",))
    with served(make_depot(tmp_path / "depot", signer=keys[0]), tls=pki.server_context()) as depot:
        known = {"depot_key": keys[0].public, "depot_authority": pki.ca_certificate.read_text()}
        bare.play("packages", "binaries", depot=depot, **known, **THING)
    assert b"good" in (bare.root / "usr/local/bin" / TOOL).read_bytes()
    assert (bare.root / "usr/share/thing").read_bytes() == b"good"


@needs_gpg
@pytest.mark.parametrize("attack", [ATTACKS[0], *(pytest.param(one, marks=pytest.mark.drill) for one in ATTACKS[1:])])
def test_nothing_else_is_whatever_the_checksums_say(
    bare: System, keys: tuple[Key, Key], tmp_path: Path, attack: str
) -> None:
    good, evil = make_depot(tmp_path / "good", signer=keys[0]), make_depot(tmp_path / "evil", content=b"e", signer=None)
    attacks(good, evil, keys[1])[attack](tmp_path / "depot")
    with served(tmp_path / "depot") as depot:
        for tag in ("packages", "binaries"):
            with pytest.raises(SetupError):
                bare.play(tag, depot=depot, depot_key=keys[0].public, **THING)
    said = bare.log.read_text()
    assert re.search(r"is not signed|BADSIG|NO_PUBKEY|Hash Sum mismatch|unexpected size|Unable to parse", said)
    assert "The lookup plugin 'longhaul_depot' failed" in said.replace("''", "'")
    assert not (bare.root / "usr/local/bin" / TOOL).exists()
    assert not (bare.root / "usr/share/thing").exists()


def changing(first: ssl.SSLContext, then: ssl.SSLContext, *, after: int) -> ssl.SSLContext:
    """Return settings of a server that shows another certificate from some handshake on."""
    handshakes = itertools.count()

    def look(connection: ssl.SSLSocket | ssl.SSLObject, _name: str | None, _context: ssl.SSLContext) -> None:
        connection.context = first if next(handshakes) < after else then

    first.sni_callback = look
    return first


@needs_gpg
@pytest.mark.parametrize(
    ("tag", "asked", "says"),
    [
        # All that apt's Python says of it.
        pytest.param("packages", 0, "Failed to update apt cache", id="apt"),
        pytest.param("binaries", 0, "lookup plugin 'longhaul_depot' failed.*CERTIFICATE_VERIFY", id="the operator"),
        pytest.param("binaries", 3, "TASK .binaries : Install binaries from.*CERTIFICATE_VERIFY", id="the host"),
    ],
)
def test_who_stands_between_with_another_authority_is_asked_for_nothing(
    bare: System, keys: tuple[Key, Key], tmp_path: Path, tag: str, asked: int, says: str
) -> None:
    """He shows the depot itself, after ``asked`` files that the operator's Ansible reads by another way."""
    ours, theirs = (ensure_pki(tmp_path / name, ("127.0.0.1",)) for name in ("ours", "theirs"))
    tls = changing(ours.server_context(), theirs.server_context(), after=asked)
    with served(make_depot(tmp_path / "depot", signer=keys[0]), tls=tls) as depot:
        known = {"depot_key": keys[0].public, "depot_authority": ours.ca_certificate.read_text()}
        with pytest.raises(SetupError):
            bare.play(tag, depot=depot, **known, **THING)
    assert re.search(says, bare.log.read_text().replace("''", "'"), re.DOTALL)
    assert not (bare.root / "usr/local/bin" / TOOL).exists()
    assert not (bare.root / "usr/share/thing").exists()


def test_nothing_is_taken_from_a_depot_that_nobody_signs_for(bare: System, tmp_path: Path) -> None:
    with served(make_depot(tmp_path / "depot", signer=None)) as depot:
        for tag in ("packages", "binaries"):
            with pytest.raises(SetupError, match=r"is\s+not\s+signed,\s+as\s+far\s+as"):
                bare.play(tag, depot=depot, **THING)


def test_without_a_depot_the_official_releases_are_taken(bare: System, releases: str, tmp_path: Path) -> None:
    wanted = {"binaries_pins": pins(releases, tmp_path / "releases"), "binaries_tools": ["single", "pack"]}
    assert bare.play("binaries", **wanted) > 0
    bin_folder = bare.root / "usr/local/bin"
    assert {path.name: path.read_bytes() for path in bin_folder.iterdir()} == {
        "single": b"single 1.0",
        "first": b"1",
        "second": b"2",
    }
    assert all(path.stat().st_mode & 0o7777 == 0o755 for path in bin_folder.iterdir())
    assert bare.play("binaries", **wanted) == 0


def test_a_release_that_is_not_the_pinned_one_is_refused(bare: System, releases: str, tmp_path: Path) -> None:
    wrong = pins(releases, tmp_path / "releases", **{"pack.tar.gz": "0" * 64})
    with pytest.raises(SetupError, match="did not match"):
        bare.play("binaries", binaries_pins=wrong, binaries_tools=["single", "pack"])
    assert not (bare.root / "usr/local/bin/first").exists()


def test_a_tool_without_a_checksum_is_refused_before_anything_is_fetched(
    bare: System, releases: str, tmp_path: Path
) -> None:
    with pytest.raises(SetupError, match="no checksum of unknown"):
        bare.play(
            "binaries",
            binaries_pins=pins(releases, tmp_path / "releases"),
            binaries_tools=["single", "unknown"],
        )
    assert list((bare.root / "usr/local/bin").iterdir()) == []


def test_the_lab_lays_nothing_that_the_roles_lay_too() -> None:
    sources = image.load_sources()
    ours = {str(path.relative_to(sources.tree)) for path in sources.tree.rglob("*") if path.is_file()}
    labs = {str(path.relative_to(sources.lab_tree)) for path in sources.lab_tree.rglob("*") if path.is_file()}
    assert ours.isdisjoint(labs)
