"""A real browser without a screen: Debian's ``chromium-headless-shell``, unpacked into the cache by its version. The
archive drops a version when it has the next, so apt's candidate is taken, and held against the archive's signature."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lab import unpacked_programs
from longhaul.toolchain.cache import Progress, cache_root
from longhaul.toolchain.errors import SetupError
from longhaul.toolchain.process import output_of

PACKAGE = "chromium-headless-shell"
PROGRAM = f"usr/lib/chromium/{PACKAGE}"
PACKAGES = (PACKAGE, "fonts-dejavu-core", "fontconfig-config")
LIMIT_S = 120
"""Time limit of a page in seconds, enough for a busy machine."""
SIZE = "1000,600"
"""Width and height of the window in pixels."""
FONTS = """\
<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "urn:fontconfig:fonts.dtd">
<fontconfig><dir>/usr/share/fonts</dir><dir>{unpacked}/usr/share/fonts</dir></fontconfig>
"""


@dataclass(frozen=True)
class Page:
    """A page as the browser has it once its scripts have run."""

    html: str
    picture: Path
    """Screenshot, PNG."""

    @property
    def title(self) -> str:
        """Its title; empty without one."""
        found = re.search(r"<title>(.*?)</title>", self.html, re.DOTALL)
        return found[1].strip() if found else ""


@dataclass(frozen=True, kw_only=True)
class Browser:
    """The browser, run under a command that brings it to its place, such as the lab's ``enter-laptop``."""

    program: Path
    folder: Path
    """Folder for what it keeps."""
    under: Sequence[str] = ()

    @classmethod
    def ensure(cls, folder: Path, *, under: Sequence[str] = (), progress: Progress = print) -> Browser:
        """Return the browser, fetched unless it is in the cache. ``SetupError`` when it cannot be had."""
        place = cache_root() / "browser" / _candidate()
        found = unpacked_programs.ensure(place, PACKAGES, program=PROGRAM, log_dir=folder, progress=progress)
        (folder / "fonts.conf").write_text(FONTS.format(unpacked=place))
        return cls(program=found / PACKAGE, folder=folder, under=under)

    def open(self, url: str, picture: Path) -> Page:
        """Open a page, and take its picture. AssertionError for one that does not load."""
        words = [
            *self.under,
            "env",
            f"FONTCONFIG_FILE={self.folder / 'fonts.conf'}",
            str(self.program),
            # The sandbox is not to be had as root; the pages are the tests' own.
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            f"--user-data-dir={self.folder / 'profile'}",
            f"--window-size={SIZE}",
            "--dump-dom",
            f"--screenshot={picture}",
            url,
        ]
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=LIMIT_S)
        assert done.returncode == 0, done.stderr[-3000:]
        assert picture.exists(), done.stderr[-3000:]
        return Page(html=done.stdout, picture=picture)


def _candidate() -> str:
    """Return the version that apt would install."""
    said = output_of(["apt-cache", "policy", PACKAGE])
    found = re.search(r"^ +Candidate: (\S+)$", said, re.MULTILINE)
    if found is None or found[1] == "(none)":
        raise SetupError(f"apt knows no {PACKAGE}: `apt-get update`, or a Debian whose archive has it")
    return found[1]
