"""Print the state of a machine's container toolkit and of containerd's settings as JSON. Change nothing.

The program runs on machines, also in an image that is being made, and needs only Python's standard library.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from glob import glob
from pathlib import Path
from typing import Any

PACKAGE = "nvidia-container-toolkit-base"
CONFIG = Path("/etc/containerd/config.toml")
FOLDER = "/etc/containerd/conf.d/*.toml"
"""Files that containerd reads on every machine of Longhaul (images/rootfs, containerd/config.py)."""
OPTION = ("plugins", "io.containerd.cri.v1.runtime", "containerd", "runtimes", "runc", "options", "SystemdCgroup")


def package() -> str:
    """Return the version of NVIDIA's package; empty if it is not installed."""
    argv = ["dpkg-query", "--show", "--showformat=${db:Status-Status} ${Version}", PACKAGE]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    state, _, version = done.stdout.partition(" ")
    return version if done.returncode == 0 and state == "installed" else ""


def systemd_cgroup(config: Path = CONFIG, folder: str = FOLDER) -> bool:
    """Return whether systemd must make runc's cgroups. The last file with the setting decides, as in containerd.
    containerd itself could not answer while one of the files is broken."""
    enabled = False
    for path in _files(config, folder):
        setting: Any = _read(path)
        for key in OPTION:
            setting = setting.get(key) if isinstance(setting, dict) else None
        if isinstance(setting, bool):
            enabled = setting
    return enabled


def _files(config: Path, folder: str) -> Iterator[Path]:
    yield config
    imports = _read(config).get("imports", [])
    patterns = [entry for entry in imports if isinstance(entry, str)] if isinstance(imports, list) else []
    for pattern in patterns if folder in patterns else [*patterns, folder]:
        yield from map(Path, sorted(glob(pattern)))


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text())
    except (OSError, ValueError):
        return {}


if __name__ == "__main__":
    there = shutil.which("containerd") is not None
    print(json.dumps({"package": package(), "containerd": there, "systemd_cgroup": systemd_cgroup()}))
