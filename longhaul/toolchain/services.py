"""Folder tree of the services on API servers' machines: folders of this checkout, and the locked Python packages that
they need.

The tree is built on the machine that bakes, for the baked machine's Python, so that no image needs pip and nothing is
fetched at boot.
"""

from __future__ import annotations

import re
import shutil
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

from longhaul.toolchain.cache import Progress, cache_root, digest, ensure_folder
from longhaul.toolchain.errors import SetupError
from longhaul.toolchain.process import run_logged
from longhaul.toolchain.spec import repository
from longhaul.toolchain.trees import describe, files_of

PLACE = "usr/local/lib/longhaul-services"
"""Folder of modules and packages on the machine."""

FOLDERS = ("clouds", "components/model", "contract", "services")
"""Folders of this checkout that the services need."""

GROUP = "services"
"""Group of dependencies in pyproject.toml: the packages that these folders import. The lock adds the dependencies of
these packages."""

_OF_AWS = ("autoscaling", "ec2", "sts")
"""Services of AWS that are called. The descriptions of all other services, two thirds of the size, are left out."""

_LAYOUT = 1
"""Version of the result. Raise it when the code below makes a different result from the same sources."""
_PROJECT = "pyproject.toml"
_LOCK = "requirements.lock"
_PINNED = re.compile(r"([a-z0-9._-]+)==")
_VIA = re.compile(r" +#(?: via)? +([a-z0-9._-]+)$")
"""A comment in the lock. It names a package that needs the package above the comment."""
_PYTHON = re.compile(r"3\.\d{1,2}")


def sources(root: Path | None = None) -> dict[str, str]:
    """Return descriptions of all sources of the tree, by path."""
    root = root or repository()
    modules = {f"{PLACE}/{name}": describe(path) for name, path in _modules(root)}
    return {**modules, _LOCK: digest(requirements(root)), "layout": str(_LAYOUT)}


def requirements(root: Path | None = None) -> str:
    """Return the lock's lines for the packages that the services need, each with its checksums. Raise
    :class:`SetupError` when a package is not locked."""
    root = root or repository()
    project = tomllib.loads((root / _PROJECT).read_text(encoding="utf-8"))
    wanted = set(project["dependency-groups"][GROUP])
    lines, users = _locked((root / _LOCK).read_text(encoding="utf-8"))
    if missing := wanted - lines.keys():
        raise SetupError(f"{_LOCK} lacks {', '.join(sorted(missing))}: lab/lock.sh makes it from {_PROJECT}")
    while needed := {name for name in lines if users[name] & wanted} - wanted:
        wanted |= needed
    return "".join(f"{line}\n" for name in sorted(wanted) for line in lines[name])


def _locked(lock: str) -> tuple[dict[str, list[str]], dict[str, set[str]]]:
    """Return the lines of each package in a lock, and the packages that need it."""
    lines: dict[str, list[str]] = {}
    users: dict[str, set[str]] = {}
    name = ""
    for line in lock.splitlines():
        if pinned := _PINNED.match(line):
            name = pinned[1]
            lines[name], users[name] = [], set()
        if user := _VIA.match(line):
            users[name].add(user[1])
        elif name and not line.lstrip().startswith("#"):
            lines[name].append(line)
    return lines, users


def ensure(*, python: str, machine: str, log_dir: Path, progress: Progress, root: Path | None = None) -> Path:
    """Make the tree unless it is cached, and return its folder. ``python`` is the machine's Python version, such as
    ``3.12``, and ``machine`` its processor by the kernel's name. Raise :class:`SetupError` when that fails."""
    if not _PYTHON.fullmatch(python):
        raise SetupError(f"the services need a machine with Python 3; it has {python!r}")
    root = root or repository()
    packages = _packages(requirements(root), python=python, machine=machine, log_dir=log_dir, progress=progress)
    place = cache_root() / "services" / f"tree-{digest(packages.name, sources(root))}"

    def make(into: Path) -> None:
        target = into / PLACE
        shutil.copytree(packages, target)
        for name, path in _modules(root):
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target / name)

    ensure_folder(place, make, what="the services' tree", progress=progress)
    return place


def _modules(root: Path) -> Iterator[tuple[str, Path]]:
    for folder in FOLDERS:
        yield from ((f"{folder}/{name}", path) for name, path in files_of([root / folder]))


def _packages(locked: str, *, python: str, machine: str, log_dir: Path, progress: Progress) -> Path:
    place = cache_root() / "services" / f"packages-{digest(_LAYOUT, locked, _OF_AWS, python, machine)}"

    def make(into: Path) -> None:
        progress(f"the services: {locked.count('==')} locked Python packages for Python {python}")
        listed = into / "requirements.txt"
        listed.write_text(locked, encoding="utf-8")
        log_dir.mkdir(parents=True, exist_ok=True)
        run_logged(
            _pip(listed, into, python=python, machine=machine),
            log=log_dir / "services-packages.log",
            what="installing the services' Python packages",
        )
        listed.unlink()
        _trim(into)

    ensure_folder(place, make, what="the services' packages", progress=progress)
    return place


def _pip(listed: Path, into: Path, *, python: str, machine: str) -> list[str]:
    platforms = (f"manylinux_2_28_{machine}", f"manylinux_2_17_{machine}", f"manylinux2014_{machine}")
    return [
        *(sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"),
        # Only wheels: a package's build would run on this machine, not on the target.
        *("--require-hashes", "--no-deps", "--no-compile", "--only-binary=:all:"),
        *("--implementation", "cp", "--python-version", python),
        *(word for platform in platforms for word in ("--platform", platform)),
        *("--target", str(into), "--requirement", str(listed)),
    ]


def _trim(packages: Path) -> None:
    """Remove programs for people, and descriptions of services that are not called."""
    shutil.rmtree(packages / "bin", ignore_errors=True)
    shutil.rmtree(packages / "boto3" / "examples", ignore_errors=True)
    for entry in (packages / "botocore" / "data").iterdir():
        if entry.is_dir() and entry.name not in _OF_AWS:
            shutil.rmtree(entry)
