"""Installation of the lab's identity provider: npm's ``oidc-provider``, in the version that tools/oidc-provider
pins."""

from __future__ import annotations

import shutil
from pathlib import Path

from longhaul.toolchain.cache import Progress, cache_root, digest, ensure_folder
from longhaul.toolchain.errors import SetupError
from longhaul.toolchain.process import run_logged
from longhaul.toolchain.spec import repository

FILES = ("package.json", "package-lock.json")
"""Files that pin every byte: the lock has a digest of each package, and names no registry."""
SERVER = Path(__file__).with_name("server.mjs")


def ensure(*, log_dir: Path, progress: Progress) -> Path:
    """Return the folder with the pinned packages, and install them unless they are there. Raise ``SetupError`` without
    npm, or when the packages are not available."""
    source = repository() / "tools" / "oidc-provider"
    place = cache_root() / "oidc-provider" / digest(*((source / name).read_bytes() for name in FILES))

    def make(into: Path) -> None:
        if shutil.which("npm") is None:
            raise SetupError("The lab's identity provider needs Node.js 20 or newer with npm, and there is no npm.")
        progress("installing oidc-provider")
        for name in FILES:
            shutil.copy(source / name, into)
        # `ci` installs the lock's versions or nothing, and compares each with its digest; packages' own scripts do not
        # run.
        words = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier"]
        run_logged(words, log=log_dir / "oidc-provider.log", what="installing oidc-provider", cwd=into)

    place.parent.mkdir(parents=True, exist_ok=True)
    ensure_folder(place, make, what="oidc-provider", progress=progress)
    return place
