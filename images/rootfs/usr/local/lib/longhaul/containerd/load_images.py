"""Import the container images in this machine's image into containerd, so that the first pods pull nothing.

An image is skipped if containerd has one of the same name. After a failed import the node starts all the same, and the
kubelet pulls the image like any other.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from containerd.image_archives import ArchiveError, archives

CTR = ("/usr/local/bin/ctr", "--namespace", "k8s.io", "images")
"""Command for images, in the namespace of containerd's CRI plugin, which the kubelet uses."""


def wanted(available: Iterable[tuple[Path, Mapping[str, str]]], there: Iterable[str]) -> list[Path]:
    """Return the archives that contain an image that containerd lacks."""
    have = set(there)
    return [path for path, names in available if not have.issuperset(names)]


def main() -> int:
    """Import the missing images. Return 0 if containerd has all images now, otherwise 1."""
    try:
        available = list(archives())
        listed = subprocess.run([*CTR, "list", "--quiet"], capture_output=True, text=True, check=True).stdout.split()
    except ArchiveError as error:
        print(error, file=sys.stderr)
        return 1
    except subprocess.CalledProcessError as error:
        print(f"containerd does not say which images it has: {error.stderr.strip()}", file=sys.stderr)
        return 1
    failed = 0
    for path in wanted(available, listed):
        done = subprocess.run([*CTR, "import", str(path)], capture_output=True, text=True, check=False)
        failed |= done.returncode
        if done.returncode:
            print(f"{path} was not imported: {done.stderr.strip()}", file=sys.stderr)
        else:
            print(f"imported {path.name}")
    return 1 if failed else 0
