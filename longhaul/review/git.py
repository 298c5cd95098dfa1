"""Asks ``git`` about the repository of a change, without writing."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from longhaul.terminal.exits import CommandError, Exit


@dataclass(frozen=True, kw_only=True)
class Repository:
    """The checkout in ``root``: a project anywhere inside a git work tree."""

    root: Path

    def merge_base(self, ref: str) -> str:
        """Return the commit where this branch left ``ref``. Raise ``CommandError`` when there is none."""
        done = self._run("merge-base", "--", ref, "HEAD")
        if done.returncode == 0:
            return done.stdout.strip()
        known = self._run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}").returncode == 0
        why = "has no commit in common with this branch here" if known else "is not a commit here"
        raise CommandError(
            f"--base {ref}: it {why}; fetch the whole history (`git fetch --unshallow`, `fetch-depth: 0`) and name a "
            "branch with its remote, such as origin/main",
            code=Exit.USAGE,
        )

    def head(self) -> str:
        """Return the commit that is checked out."""
        return self._asked("rev-parse", "HEAD").strip()

    def changed(self, commit: str) -> tuple[str, ...]:
        """Return the paths below ``root`` that differ between ``commit`` and the work tree, sorted. Uncommitted changes
        count, because they are validated and planned as well. A rename gives the old path and the new path."""
        differ = self._asked("diff", "--name-only", "--no-renames", "--relative", "-z", commit, "--")
        new = self._asked("ls-files", "--others", "--exclude-standard", "-z")
        return tuple(sorted({name for name in (differ + new).split("\0") if name}))

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
