"""Every kind of damage to a depot is found, and all of it is in one report."""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from longhaul.artifacts import manifest as module
from longhaul.artifacts.manifest import MANIFEST, SUMS, DepotReport, digest_of, seal, verify
from longhaul.toolchain.errors import SetupError

BLOB = b"layer"
NAME = f"images/blobs/sha256/{hashlib.sha256(BLOB).hexdigest()}"
TOOL = "binaries/tool/1.0/tool"
DEB = "debian/bookworm/thing_1.0_all.deb"


def write(root: Path, name: str, content: bytes) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


@pytest.fixture
def depot(tmp_path: Path) -> Path:
    root = tmp_path / "depot"
    write(root, TOOL, b"tool")
    write(root, "binaries/SHA256SUMS", f"{hashlib.sha256(b'tool').hexdigest()}  tool/1.0/tool\n".encode())
    write(root, DEB, b"deb")
    stanza = f"Package: thing\nFilename: ./{Path(DEB).name}\nSize: 3\nSHA256: {hashlib.sha256(b'deb').hexdigest()}\n"
    write(root, "debian/bookworm/Packages", stanza.encode())
    write(root, NAME, BLOB)
    seal(root, {"environment": "test"})
    return root


def told(report: DepotReport) -> list[tuple[str, str]]:
    return [(problem.kind, problem.path) for problem in report.problems]


def test_a_depot_as_it_was_sealed_is_good(depot: Path) -> None:
    report = verify(depot, digest=digest_of(depot))
    assert report.good
    assert report.files == 6
    assert report.bytes == sum(
        path.stat().st_size for path in depot.rglob("*") if path.is_file() and path != depot / SUMS
    )


def test_long_work_says_how_far_it_is(depot: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    verify(depot, progress=said.append)
    assert said == []
    monkeypatch.setattr(module, "_TELL_BYTES", 100)
    verify(depot, progress=said.append)
    assert said
    assert all("MiB read" in line for line in said)


def test_other_programs_can_check_it(depot: Path) -> None:
    subprocess.run(["sha256sum", "--quiet", "--check", "--strict", SUMS], cwd=depot, check=True)


def test_sealing_again_says_the_same(depot: Path) -> None:
    before = digest_of(depot)
    assert seal(depot, {"environment": "test"}) == before
    assert seal(depot, {"environment": "other"}) != before


def longer(root: Path) -> None:
    with (root / TOOL).open("ab") as file:
        file.write(b"!")


def linked(root: Path) -> None:
    (root / TOOL).rename(root.parent / "elsewhere")
    (root / TOOL).symlink_to(root.parent / "elsewhere")


def other_sum(root: Path) -> None:
    text = (root / SUMS).read_text()
    right = hashlib.sha256(b"deb").hexdigest()
    (root / SUMS).write_text(text.replace(right, "0" * 64))


def dropped_sum(root: Path) -> None:
    lines = (root / SUMS).read_text().splitlines(keepends=True)
    (root / SUMS).write_text("".join(line for line in lines if DEB not in line))


def resealed(root: Path, name: str, content: bytes) -> None:
    """Change a file as an attacker would, with new checksums."""
    write(root, name, content)
    seal(root, {"environment": "test"})


@pytest.mark.parametrize(
    ("damage", "expected"),
    [
        (lambda root: (root / TOOL).unlink(), [("missing", TOOL)]),
        (longer, [("changed", TOOL), ("contradicted", TOOL)]),
        (lambda root: write(root, DEB, b"bed"), [("changed", DEB), ("contradicted", DEB)]),
        (lambda root: write(root, NAME, b""), [("changed", NAME), ("contradicted", NAME)]),
        (lambda root: write(root, "binaries/more", b""), [("extra", "binaries/more")]),
        (linked, [("unreadable", TOOL)]),
        (lambda root: (root / "new").symlink_to(root), [("extra", "new")]),
        (lambda root: (root / MANIFEST).unlink(), [("missing", MANIFEST)]),
        (lambda root: (root / SUMS).unlink(), [("missing", SUMS)]),
        (lambda root: write(root, MANIFEST, b"{"), [("changed", MANIFEST), ("unreadable", MANIFEST)]),
        (lambda root: write(root, MANIFEST, b"[]"), [("changed", MANIFEST), ("unreadable", MANIFEST)]),
        (other_sum, [("changed", DEB), ("contradicted", DEB)]),
        (dropped_sum, [("contradicted", DEB)]),
        (lambda root: resealed(root, NAME, b"evil"), [("contradicted", NAME)]),
        (lambda root: resealed(root, TOOL, b"evil"), [("contradicted", TOOL)]),
        (lambda root: resealed(root, DEB, b"evil"), [("contradicted", DEB)]),
    ],
)
def test_damage_is_named(depot: Path, damage: Callable[[Path], object], expected: list[tuple[str, str]]) -> None:
    damage(depot)
    assert told(verify(depot)) == expected


def test_all_damage_is_in_one_report(depot: Path) -> None:
    (depot / TOOL).unlink()
    write(depot, DEB, b"bed")
    write(depot, "more", b"")
    assert {path for _, path in told(verify(depot))} == {TOOL, DEB, "more"}


def test_a_line_that_is_no_checksum_is_named_by_its_number(depot: Path) -> None:
    with (depot / SUMS).open("a") as file:
        file.write("nonsense\n")
    (problem,) = verify(depot).problems
    assert (problem.kind, problem.path, problem.message) == ("unreadable", SUMS, "line 7 is not a checksum")


def test_who_has_the_digest_sees_that_all_was_made_anew(depot: Path) -> None:
    before = digest_of(depot)
    write(depot, "more", b"")
    seal(depot, {"environment": "test"})
    assert verify(depot).good
    (problem,) = verify(depot, digest=before).problems
    assert (problem.kind, problem.path) == ("changed", SUMS)
    assert before in problem.message


def test_a_depot_of_another_format_is_refused(depot: Path) -> None:
    raw = json.loads((depot / MANIFEST).read_text())
    (depot / MANIFEST).write_text(json.dumps({**raw, "format": 2}))
    with pytest.raises(SetupError, match="of format 2; this release reads 1"):
        verify(depot)


def test_another_folder_is_no_depot(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="is not a depot"):
        verify(tmp_path)
