"""The program ``openvpn`` of the lab's laptop: Debian's package, unpacked into the cache. It is not installed, since
the package brings services to the host."""

from __future__ import annotations

import shutil
from pathlib import Path

from longhaul.toolchain.cache import Progress, cache_root, ensure_folder
from longhaul.toolchain.errors import SetupError
from longhaul.toolchain.process import run_logged

_RUN = """\
#!/bin/sh
# Written by the lab: a package that is unpacked, not installed, has its libraries beside it.
here=$(dirname "$(dirname "$0")")
LD_LIBRARY_PATH=$(find "$here" -name '*.so*' -printf '%h\\n' | sort -u | paste -sd :) exec "$here/usr/sbin/openvpn" "$@"
"""


def folder() -> Path:
    """Return the folder with the program once it is unpacked."""
    return cache_root() / "openvpn" / "bin"


def ensure(*, log_dir: Path, progress: Progress) -> Path:
    """Return the folder with the program, the system's own if it has one. ``SetupError`` without apt, or when the
    package cannot be had."""
    found = shutil.which("openvpn", path="/usr/sbin:/usr/bin:/sbin:/usr/local/sbin")
    if found is not None:
        return Path(found).parent
    place = folder().parent

    def make(into: Path) -> None:
        if shutil.which("apt-get") is None:
            raise SetupError("The lab's laptop needs OpenVPN, and there is no apt-get to fetch it: install openvpn.")
        progress("fetching openvpn")
        archives = into / "archives"
        (archives / "partial").mkdir(parents=True)
        # What it depends on and the host lacks comes with it.
        words = [
            "apt-get",
            "-q",
            "-y",
            "--download-only",
            "--no-install-recommends",
            "-o",
            f"Dir::Cache::archives={archives}",
        ]
        log, what = log_dir / "openvpn.log", "fetching openvpn"
        run_logged([*words, "-o", "DPkg::Lock::Timeout=120", "install", "openvpn"], log=log, what=what)
        for package in sorted(archives.glob("*.deb")):
            run_logged(["dpkg-deb", "--extract", str(package), str(into)], log=log, what=what)
        shutil.rmtree(archives)
        (into / "bin").mkdir(exist_ok=True)
        (into / "bin" / "openvpn").write_text(_RUN)
        (into / "bin" / "openvpn").chmod(0o755)

    place.parent.mkdir(parents=True, exist_ok=True)
    ensure_folder(place, make, what="openvpn", progress=progress)
    return folder()
