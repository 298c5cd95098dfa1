"""Asks ``git`` about the repository of a change, without writing anything but objects into its store."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from longhaul.review.affected_environments import ChangedFile
from longhaul.terminal.exits import CommandError, Exit

_REGULAR = frozenset({"000000", "100644", "100755"})
"""Git's modes of regular files, and of no file."""


@dataclass(frozen=True, kw_only=True)
class Repository:
    """The checkout in ``root``: a project anywhere inside a git work tree."""

    root: Path

    def merge(self, ref: str, change: str) -> tuple[str, str]:
        """Return the commit that ``ref`` names, and the tree that a merge of the commit ``change`` into it makes, which
        is written into git's store alone. Raise ``CommandError`` when they cannot be merged.

        What differs between the two is what the merge will change. What differs from a merge base is not: there may be
        several, and a change can be such that it brings back what one of them had and ``ref`` removed.
        """
        self.merge_base(ref, change)
        commit = str(self.commit(ref))
        done = self._run("merge-tree", "--write-tree", "-z", "--no-messages", commit, change)
        if done.returncode != 0:
            why = "it conflicts" if done.returncode == 1 else done.stderr.strip()
            raise CommandError(f"--change {change}: it cannot be merged into {ref} ({why}): merge {ref} into it first")
        return commit, done.stdout.split("\0")[0].strip()

    def merge_base(self, ref: str, change: str = "HEAD") -> str:
        """Return the commit where ``change`` left ``ref``. Raise ``CommandError`` when there is none."""
        commit = self.commit(ref)
        done = self._run("merge-base", "--", commit, change) if commit is not None else None
        if done is not None and done.returncode == 0:
            return done.stdout.strip()
        why = "has no commit in common with this branch here" if commit is not None else "is not a commit here"
        raise CommandError(
            f"--base {ref}: it {why}; fetch the whole history (`git fetch --unshallow`, `fetch-depth: 0`) and name a "
            "branch with its remote, such as origin/main",
            code=Exit.USAGE,
        )

    def commit(self, ref: str) -> str | None:
        """Return the commit that ``ref`` names; None when it names none. A branch comes before a tag of the same name,
        which git prefers: who may push tags could name one ``origin/main`` and so choose what a change is compared
        with."""
        exact = ref == "HEAD" or is_commit(ref)
        for name in (ref,) if exact else (f"refs/remotes/{ref}", f"refs/heads/{ref}", ref):
            done = self._run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
            if done.returncode == 0:
                return done.stdout.strip()
        return None

    def head(self) -> str:
        """Return the commit that is checked out."""
        return self._asked("rev-parse", "HEAD").strip()

    def changed(self, base: str, tree: str | None = None) -> tuple[ChangedFile, ...]:
        """Return the files of the whole repository that differ between ``base`` and ``tree``, or the work tree when
        that is None, sorted. Uncommitted changes of the work tree count, because they are validated and planned as
        well. A rename gives the old path and the new path.

        The change's own files have no say: its ``.gitmodules`` may tell git to ignore a submodule.
        """
        options = ("--raw", "--no-renames", "--no-ext-diff", "--ignore-submodules=none", "--no-abbrev", "-z")
        fields = self._asked("diff", *options, base, *([tree] if tree is not None else []), "--").split("\0")
        modes: dict[str, bool] = {}
        for entry, path in zip(fields[::2], fields[1::2], strict=False):
            old, new, *_ = entry.removeprefix(":").split(" ")
            modes[path] = {old, new} <= _REGULAR
        if tree is None:
            top = Path(self._asked("rev-parse", "--show-toplevel").removesuffix("\n"))
            listed = self._asked("ls-files", "--others", "--exclude-standard", "--full-name", "-z", "--", ":/")
            modes |= {path: _is_regular(top / path) for path in listed.split("\0") if path}
        inside = self._asked("rev-parse", "--show-prefix").removesuffix("\n")
        return tuple(
            sorted(
                ChangedFile(path=path.removeprefix(inside) if path.startswith(inside) else f"/{path}", regular=regular)
                for path, regular in modes.items()
            )
        )

    def files(self, commit: str, folder: str) -> tuple[str, ...]:
        """Return the paths below ``root`` of the files directly in ``folder`` at ``commit``."""
        listed = (
            self._asked("ls-tree", "--name-only", "-z", f"{commit}:./{folder}") if self._has(commit, folder) else ""
        )
        return tuple(f"{folder}/{name}" for name in listed.split("\0") if name)

    def text(self, commit: str, path: str) -> str | None:
        """Return the content of the file ``path`` at ``commit``; None when there was no such file."""
        done = self._run("show", f"{commit}:./{path}")
        return done.stdout if done.returncode == 0 else None

    def content(self, commit: str, path: str) -> bytes | None:
        """Return the bytes of the file ``path`` at ``commit``; None when there was no such file."""
        done = subprocess.run(
            ["git", "cat-file", "blob", f"{commit}:./{path}"], cwd=self.root, capture_output=True, check=False
        )
        return done.stdout if done.returncode == 0 else None

    def _has(self, commit: str, path: str) -> bool:
        return self._run("cat-file", "-e", f"{commit}:./{path}").returncode == 0

    def _asked(self, *words: str) -> str:
        done = self._run(*words)
        if done.returncode != 0:
            raise CommandError(f"git {words[0]} in {self.root}: {done.stderr.strip() or done.returncode}")
        return done.stdout

    def _run(self, *words: str) -> subprocess.CompletedProcess[str]:
        try:
            return subprocess.run(
                ["git", *words], cwd=self.root, capture_output=True, text=True, errors="replace", check=False
            )
        except FileNotFoundError:
            raise CommandError("git is missing: `longhaul review` asks it for the changes") from None


def is_commit(ref: str) -> bool:
    """Return whether ``ref`` is the whole name of a commit, which nobody can give to another one."""
    return re.fullmatch("[0-9a-f]{40}|[0-9a-f]{64}", ref) is not None


def _is_regular(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()
