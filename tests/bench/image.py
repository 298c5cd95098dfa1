"""Benchmarks of the lab's images: the time to bake them with cached tools and packages, and a node image's size."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

from longhaul.toolchain.cache import cache_root

BAKED = "image"
"""Name of the cache's folder with baked images."""


def measure(folder: Path) -> dict[str, float]:
    """Return the figures by name."""
    cache = folder / "cache"
    cache.mkdir()
    for entry in cache_root().iterdir():
        if entry.name != BAKED:
            (cache / entry.name).symlink_to(entry)
    words = [sys.executable, "-m", "lab.image", "--json", "--log-dir", str(folder / "log")]
    began = time.monotonic()
    done = subprocess.run(
        words, env={**os.environ, "LONGHAUL_CACHE": str(cache)}, stdout=subprocess.PIPE, text=True, check=True
    )
    seconds = time.monotonic() - began
    return {"images baked, s": seconds, "node's image, MiB": _bytes(Path(json.loads(done.stdout)["node"])) / 2**20}


def _bytes(root: Path) -> int:
    """Return the bytes that files take on the disk; a file with several names counts once."""
    seen: dict[int, int] = {}
    for folder, _, names in os.walk(root):
        for name in names:
            found = (Path(folder) / name).lstat()
            seen[found.st_ino] = found.st_blocks * 512
    return sum(seen.values())
