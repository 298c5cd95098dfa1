"""Programs of Debian packages that are unpacked into the cache and not installed: such packages would install services,
or much else, on the host."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from longhaul.toolchain.cache import Progress, ensure_folder
from longhaul.toolchain.errors import SetupError
from longhaul.toolchain.process import run_logged

_RUN = """\
#!/bin/sh
# Written by the lab: a package that is unpacked, not installed, has its libraries beside it.
here=$(dirname "$(dirname "$0")")
LD_LIBRARY_PATH=$(find "$here" -name '*.so*' -printf '%h\\n' | sort -u | paste -sd :) exec "$here/{program}" "$@"
"""


def ensure(place: Path, packages: Sequence[str], *, program: str, log_dir: Path, progress: Progress) -> Path:
    """Return the folder, below ``place``, with the packages' program at the path ``program``, ready to run.
    Dependencies that the host lacks are unpacked in the same place; apt verifies all packages against the archive's
    signature. Raise ``SetupError`` without apt, or when the packages are not available."""
    what = f"fetching {packages[0]}"

    def make(into: Path) -> None:
        if shutil.which("apt-get") is None:
            raise SetupError(f"{what}: there is no apt-get. Install {packages[0]} by what this system has.")
        progress(what)
        archives, log = into / "archives", log_dir / f"{packages[0]}.log"
        (archives / "partial").mkdir(parents=True)
        words = ["apt-get", "-q", "-y", "--download-only", "--no-install-recommends", "-o", "DPkg::Lock::Timeout=120"]
        words += ["-o", f"Dir::Cache::archives={archives}", "install"]
        run_logged([*words, *packages], log=log, what=what)
        for package in sorted(archives.glob("*.deb")):
            run_logged(["dpkg-deb", "--extract", str(package), str(into)], log=log, what=what)
        shutil.rmtree(archives)
        (into / "bin").mkdir(exist_ok=True)
        script = into / "bin" / Path(program).name
        script.write_text(_RUN.format(program=program))
        script.chmod(0o755)

    place.parent.mkdir(parents=True, exist_ok=True)
    ensure_folder(place, make, what=packages[0], progress=progress)
    return place / "bin"
