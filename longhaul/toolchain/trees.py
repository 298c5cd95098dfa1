"""Trees of files that are copied into a root file system, and copies of such systems."""

from __future__ import annotations

import shutil
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from longhaul.toolchain.cache import sha256_file
from longhaul.toolchain.process import output_of

CACHES = frozenset(("__pycache__", ".mypy_cache", ".ruff_cache"))
"""Folders that tools leave beside sources, and that do not belong to them."""


def files_of(trees: Iterable[Path]) -> Iterator[tuple[str, Path]]:
    """Yield every file and link of the trees by its path in the root."""
    for tree in trees:
        for path in sorted(tree.rglob("*")):
            if not CACHES.intersection(path.parts) and (path.is_symlink() or path.is_file()):
                yield str(path.relative_to(tree)), path


def describe(path: Path) -> str:
    """Return content and type of a file in one line, for comparing images."""
    if path.is_symlink():
        return f"link to {path.readlink()}"
    return f"{_mode(path):04o} {sha256_file(path)}"


def _mode(path: Path) -> int:
    """Return the mode as Git stores it: only the executable bit counts."""
    return 0o755 if path.stat().st_mode & stat.S_IXUSR else 0o644


def lay(files: Mapping[str, Path], root: Path) -> None:
    """Put the files into the root. An existing file may be a hard link into another root, so it is replaced, not
    written to."""
    for name, source in files.items():
        target = root / name
        for folder in reversed([parent for parent in target.parents if not parent.exists()]):
            folder.mkdir()
            folder.chmod(0o755)
        target.unlink(missing_ok=True)
        shutil.copyfile(source, target, follow_symlinks=False)
        if not target.is_symlink():
            target.chmod(_mode(source))


def copy_system(source: Path, target: Path) -> None:
    """Copy a root file system; the copy's files may be written to."""
    output_of(["cp", "--archive", "--reflink=auto", str(source), str(target)])


def link_system(source: Path, target: Path) -> None:
    """Copy a root file system with shared files: they may be replaced, but never written to."""
    output_of(["cp", "--archive", "--link", str(source), str(target)])
