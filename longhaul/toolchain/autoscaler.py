"""Tree that the autoscaler runs from on API servers' machines: modules of this checkout, and the locked Python packages
that they need.

It is made on the machine that bakes, for the baked machine's Python, so that no image needs pip and nothing is fetched
at boot.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from longhaul.toolchain.cache import Progress, cache_root, digest, ensure_folder
from longhaul.toolchain.errors import SetupError
from longhaul.toolchain.process import run_logged
from longhaul.toolchain.spec import repository
from longhaul.toolchain.trees import describe, files_of

PLACE = "usr/local/lib/longhaul-autoscaler"
"""Folder of modules and packages on the machine."""

MODULES = (
    "clouds",
    "components/__init__.py",
    "components/model",
    "contract",
    "longhaul/__init__.py",
    "longhaul/autoscaler",
    "longhaul/drain.py",
    "longhaul/engine/__init__.py",
    "longhaul/engine/processes.py",
    "longhaul/terminal",
    "longhaul/kubernetes",
    "longhaul/costs",
    "longhaul/machine",
    "longhaul/report",
    "longhaul/roll",
)
"""Modules and packages of this checkout that the autoscaler imports."""

PACKAGES = (
    "annotated-types",
    "azure-core",
    "boto3",
    "botocore",
    "certifi",
    "charset-normalizer",
    "idna",
    "jmespath",
    "pydantic",
    "pydantic-core",
    "python-dateutil",
    "pyyaml",
    "requests",
    "s3transfer",
    "six",
    "typing-extensions",
    "typing-inspection",
    "urllib3",
)
"""Locked packages that these import. azure-identity is not among them: tokens come from the machine's own program."""

SERVICES = ("autoscaling", "ec2", "sts")
"""Services of AWS that are called. The descriptions of all others are two thirds of the size, and left out."""

_LAYOUT = 1
"""Version of the result. Raise it when the code below makes a different result from the same sources."""
_LOCK = "requirements.lock"
_PINNED = re.compile(r"([a-z0-9._-]+)==")
_PYTHON = re.compile(r"3\.\d{1,2}")


def sources(root: Path | None = None) -> dict[str, str]:
    """Return descriptions of everything that the tree is made of, by path."""
    root = root or repository()
    own = {f"{PLACE}/{name}": describe(path) for name, path in _modules(root)}
    return {**own, _LOCK: digest(requirements(root)), "layout": str(_LAYOUT)}


def requirements(root: Path | None = None) -> str:
    """Return the lock's lines for the packages, each with its checksums. Raise :class:`SetupError` when one is not
    locked."""
    lines: list[str] = []
    missing, wanted = set(PACKAGES), False
    for line in ((root or repository()) / _LOCK).read_text(encoding="utf-8").splitlines():
        if found := _PINNED.match(line):
            wanted = found[1] in PACKAGES
            missing.discard(found[1])
        if wanted and (found or line.lstrip().startswith("--hash=")):
            lines.append(line)
    if missing:
        raise SetupError(f"{_LOCK} lacks {', '.join(sorted(missing))}: lab/lock.sh makes it of pyproject.toml")
    return "\n".join(lines) + "\n"


def ensure(*, python: str, machine: str, log_dir: Path, progress: Progress, root: Path | None = None) -> Path:
    """Make the tree unless it is cached, and return its folder. ``python`` is the machine's version, such as ``3.12``,
    and ``machine`` its processor by the kernel's name. Raise :class:`SetupError` when that fails."""
    if not _PYTHON.fullmatch(python):
        raise SetupError(f"the autoscaler needs a machine with Python 3; it has {python!r}")
    root = root or repository()
    packages = _packages(requirements(root), python=python, machine=machine, log_dir=log_dir, progress=progress)
    place = cache_root() / "autoscaler" / f"tree-{digest(packages.name, sources(root))}"

    def make(into: Path) -> None:
        target = into / PLACE
        shutil.copytree(packages, target)
        for name, path in _modules(root):
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target / name)

    ensure_folder(place, make, what="the autoscaler's tree", progress=progress)
    return place


def _modules(root: Path) -> Iterator[tuple[str, Path]]:
    for part in MODULES:
        path = root / part
        if path.is_dir():
            yield from ((f"{part}/{name}", file) for name, file in files_of([path]))
        else:
            yield part, path


def _packages(locked: str, *, python: str, machine: str, log_dir: Path, progress: Progress) -> Path:
    place = cache_root() / "autoscaler" / f"packages-{digest(_LAYOUT, locked, SERVICES, python, machine)}"

    def make(into: Path) -> None:
        progress(f"the autoscaler: {len(PACKAGES)} locked Python packages for Python {python}")
        listed = into / "requirements.txt"
        listed.write_text(locked, encoding="utf-8")
        log_dir.mkdir(parents=True, exist_ok=True)
        run_logged(
            _pip(listed, into, python=python, machine=machine),
            log=log_dir / "autoscaler-packages.log",
            what="installing the autoscaler's Python packages",
        )
        listed.unlink()
        _trim(into)

    ensure_folder(place, make, what="the autoscaler's packages", progress=progress)
    return place


def _pip(listed: Path, into: Path, *, python: str, machine: str) -> list[str]:
    platforms = (f"manylinux_2_28_{machine}", f"manylinux_2_17_{machine}", f"manylinux2014_{machine}")
    return [
        *(sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"),
        # What a package does at its build would be done here, not there: wheels alone.
        *("--require-hashes", "--no-deps", "--no-compile", "--only-binary=:all:"),
        *("--implementation", "cp", "--python-version", python),
        *(word for platform in platforms for word in ("--platform", platform)),
        *("--target", str(into), "--requirement", str(listed)),
    ]


def _trim(packages: Path) -> None:
    """Leave out programs for people, and descriptions of services that are not called."""
    shutil.rmtree(packages / "bin", ignore_errors=True)
    shutil.rmtree(packages / "boto3" / "examples", ignore_errors=True)
    for entry in (packages / "botocore" / "data").iterdir():
        if entry.is_dir() and entry.name not in SERVICES:
            shutil.rmtree(entry)
