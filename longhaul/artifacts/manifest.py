"""The lists of a depot's content, and their verification.

``depot.json`` describes every file in the folder. ``SHA256SUMS`` has the checksums of all files, including
``depot.json``, in the format of ``sha256sum --check``. The SHA-256 of ``SHA256SUMS`` is the depot's digest. A receiver
who gets the digest from the builder through another channel can detect any change. So can a receiver who has the
builder's key: ``SHA256SUMS.gpg`` is the signature (:mod:`longhaul.artifacts.signature`).
"""

from __future__ import annotations

import json
import re
import stat
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from longhaul.artifacts.signature import SUFFIX, SignatureError, check, is_signature
from longhaul.toolchain.cache import Progress, sha256_file, write_json
from longhaul.toolchain.errors import SetupError

FORMAT = 1
MANIFEST = "depot.json"
SUMS = "SHA256SUMS"
_TELL_BYTES = 1 << 30
_SUM = re.compile(r"(?P<sum>[0-9a-f]{64})  (?P<path>.+)")
_STANZA = re.compile(r"^Filename: \./(?P<name>.+)$\n(?:^.*$\n)*?^SHA256: (?P<sum>[0-9a-f]{64})$", re.MULTILINE)

Kind = Literal["missing", "extra", "changed", "unreadable", "contradicted", "unsigned"]


@dataclass(frozen=True, kw_only=True)
class DepotFault:
    """One fault of a depot."""

    kind: Kind
    path: str
    message: str


@dataclass(frozen=True, kw_only=True)
class DepotReport:
    """Result of verifying a depot's folder."""

    digest: str
    """SHA-256 of ``SHA256SUMS``; empty when there is none."""
    files: int
    bytes: int
    problems: tuple[DepotFault, ...]

    @property
    def good(self) -> bool:
        """Return whether the depot has no fault."""
        return not self.problems

    def plain(self) -> dict[str, Any]:
        """Return the report as plain values, for programs."""
        return {"good": self.good, **asdict(self), "problems": [asdict(problem) for problem in self.problems]}


def is_depot(root: Path) -> bool:
    """Return whether the folder has one of a depot's lists."""
    return (root / MANIFEST).is_file() or (root / SUMS).is_file()


def seal(root: Path, about: Mapping[str, Any], *, sign: Callable[[Path], None] | None = None) -> str:
    """Write both lists for the folder's content, with the description ``about``; return the depot's digest. ``sign``
    writes a file's signature beside the file; without it, the depot is not signed."""
    for name in (MANIFEST, SUMS, *filter(is_signature, list(_files(root)))):
        (root / name).unlink(missing_ok=True)
    files = {
        name: {"sha256": sha256_file(path), "size": path.stat().st_size} for name, path in sorted(_files(root).items())
    }
    write_json(root / MANIFEST, {"format": FORMAT, **about, "files": files})
    sums = {name: str(entry["sha256"]) for name, entry in files.items()} | {MANIFEST: sha256_file(root / MANIFEST)}
    text = "".join(f"{sums[name]}  {name}\n" for name in sorted(sums))
    (root / SUMS).write_text(text, encoding="utf-8")
    if sign is not None:
        for name in signed_files(files):
            sign(root / name)
    return digest_of(root)


def signed_files(names: Collection[str]) -> list[str]:
    """Return the names of the depot's files that have a signature."""
    return [SUMS, *(name for name in sorted(names) if is_signature(f"{name}{SUFFIX}") and name != SUMS)]


def digest_of(root: Path) -> str:
    """Return the depot's digest; empty when it has no ``SHA256SUMS``."""
    path = root / SUMS
    return sha256_file(path) if path.is_file() else ""


def verify(root: Path, *, digest: str = "", key: str = "", progress: Progress | None = None) -> DepotReport:
    """Check every file. ``digest``, if given, must equal the depot's digest. ``key``, if given, holds public keys in
    the form of the environment's file; one of these keys must have signed the depot. ``progress`` is called for each
    GiB.

    Raise :class:`SetupError` when the folder is no depot.
    """
    if not is_depot(root):
        raise SetupError(f"{root} is not a depot: it has neither {MANIFEST} nor {SUMS}")
    problems: list[DepotFault] = []
    sums = _read_sums(root, problems)
    declared = _read_manifest(root, problems)
    files = {name: path for name, path in _files(root).items() if name != SUMS and not is_signature(name)}
    hashes: dict[str, str] = {}
    total = 0
    for name, path in sorted(files.items()):
        if name not in sums and name not in declared and name != MANIFEST:
            problems.append(DepotFault(kind="extra", path=name, message="is in no list"))
            continue
        try:
            hashes[name], size = _look(path)
        except (OSError, ValueError) as error:
            problems.append(DepotFault(kind="unreadable", path=name, message=str(error)))
            continue
        if progress is not None and (total + size) // _TELL_BYTES > total // _TELL_BYTES:
            progress(f"{root}: {(total + size) >> 20:,} MiB read")
        total += size
    expected = {name: entry["sha256"] for name, entry in declared.items()} | sums
    problems += _compared(expected, hashes, files)
    problems += _contradictions(sums, declared)
    problems += _indexes(root, hashes, known=expected)
    problems += _unsigned(root, signed_files(files), key=key) if key else ()
    actual = digest_of(root)
    if digest and actual != digest:
        problems.append(
            DepotFault(kind="changed", path=SUMS, message=f"its SHA-256 is {actual or 'none'}, not {digest}")
        )
    return DepotReport(
        digest=actual, files=len(hashes), bytes=total, problems=tuple(sorted(problems, key=lambda p: (p.path, p.kind)))
    )


def _files(root: Path) -> dict[str, Path]:
    """Return the path of everything except folders, by its name in the depot."""
    paths = (path for path in root.rglob("*") if path.is_symlink() or not path.is_dir())
    return {path.relative_to(root).as_posix(): path for path in paths}


def _look(path: Path) -> tuple[str, int]:
    mode = path.lstat()
    if not stat.S_ISREG(mode.st_mode):
        raise ValueError("is not a regular file")
    return sha256_file(path), mode.st_size


def _read_sums(root: Path, problems: list[DepotFault]) -> dict[str, str]:
    sums: dict[str, str] = {}
    try:
        lines = (root / SUMS).read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        problems.append(DepotFault(kind="missing", path=SUMS, message="the list of all checksums"))
        return sums
    except (OSError, UnicodeDecodeError) as error:
        problems.append(DepotFault(kind="unreadable", path=SUMS, message=str(error)))
        return sums
    for number, line in enumerate(lines, 1):
        if match := _SUM.fullmatch(line):
            sums[match["path"]] = match["sum"]
        else:
            problems.append(DepotFault(kind="unreadable", path=SUMS, message=f"line {number} is not a checksum"))
    return sums


def _read_manifest(root: Path, problems: list[DepotFault]) -> dict[str, Any]:
    try:
        raw = json.loads((root / MANIFEST).read_bytes())
        if raw["format"] != FORMAT:
            raise SetupError(f"{root / MANIFEST} is of format {raw['format']}; this release reads {FORMAT}")
        files: dict[str, Any] = raw["files"]
        if not all(isinstance(entry.get("sha256"), str) for entry in files.values()):
            raise ValueError("a file without `sha256`")
    except FileNotFoundError:
        return {}  # SHA256SUMS lists it, so it is reported as missing
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        message = f"cannot be understood ({type(error).__name__}: {error})"
        problems.append(DepotFault(kind="unreadable", path=MANIFEST, message=message))
        return {}
    return files


def _compared(
    expected: Mapping[str, str], hashes: Mapping[str, str], files: Mapping[str, Path]
) -> Iterator[DepotFault]:
    for name, wanted in expected.items():
        if name not in files:
            yield DepotFault(kind="missing", path=name, message="is not there")
        elif name in hashes and hashes[name] != wanted:
            yield DepotFault(kind="changed", path=name, message=f"its SHA-256 is {hashes[name]}, not {wanted}")


def _contradictions(sums: Mapping[str, str], declared: Mapping[str, Any]) -> Iterator[DepotFault]:
    """Yield the differences between the two lists."""
    if not sums or not declared:
        return
    for name in sorted({*sums, *declared} - {MANIFEST}):
        if name not in sums or name not in declared:
            lacks = SUMS if name not in sums else MANIFEST
            yield DepotFault(kind="contradicted", path=name, message=f"is not in {lacks}")
        elif sums[name] != declared[name]["sha256"]:
            yield DepotFault(kind="contradicted", path=name, message=f"{SUMS} and {MANIFEST} have different checksums")


def _unsigned(root: Path, names: Collection[str], *, key: str) -> Iterator[DepotFault]:
    """Yield the files whose signature is missing or invalid."""
    for name in names:
        try:
            check((root / name).read_bytes(), (root / f"{name}{SUFFIX}").read_bytes(), key)
        except SignatureError as error:
            yield DepotFault(kind="unsigned", path=name, message=str(error))
        except OSError:
            yield DepotFault(kind="unsigned", path=name, message=f"there is no {name}{SUFFIX}")


def _indexes(root: Path, hashes: Mapping[str, str], *, known: Collection[str]) -> Iterator[DepotFault]:
    """Yield files whose checksum differs from the checksum that machines use. Machines take it from the list of
    binaries, from the archives' indexes, or from a blob's name."""
    indexed: dict[str, str] = {}
    if "binaries/SHA256SUMS" in hashes:
        lines = (root / "binaries/SHA256SUMS").read_text(encoding="utf-8", errors="replace").splitlines()
        indexed |= {f"binaries/{m['path']}": m["sum"] for m in map(_SUM.fullmatch, lines) if m}
    for name in hashes:
        folder, _, last = name.rpartition("/")
        if last == "Packages" and name.startswith("debian/"):
            text = (root / name).read_text(encoding="utf-8", errors="replace")
            indexed |= {f"{folder}/{match['name']}": match["sum"] for match in _STANZA.finditer(text)}
        elif folder == "images/blobs/sha256":
            indexed[name] = last
    for name, wanted in sorted(indexed.items()):
        if name not in hashes and name not in known:
            yield DepotFault(kind="contradicted", path=name, message="its index lists it, but it is missing")
        elif hashes.get(name, wanted) != wanted:
            yield DepotFault(kind="contradicted", path=name, message=f"its index has the checksum {wanted}")
