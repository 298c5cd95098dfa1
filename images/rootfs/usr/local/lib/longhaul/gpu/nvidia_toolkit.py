"""CDI specifications, with which the container toolkit passes the driver to containers. A specification is made for one
version of the driver."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from gpu.findings import Code, GpuFinding, LookError
from gpu.nvidia_driver import agree

FOLDERS = (Path("/etc/cdi"), Path("/run/cdi"))
"""Folders in which container runtimes look for specifications (tags.cncf.io/container-device-interface, ``pkg/cdi``:
/etc/cdi and /var/run/cdi, which is /run/cdi). longhaul-gpu-cdi.service writes nvidia.yaml there, like NVIDIA's
nvidia-cdi-refresh.service. The device plugin writes other files there."""

SUFFIXES = (".yaml", ".json")

_NVIDIA = re.compile(r"""^\s*["']?kind["']?\s*:\s*["']?[\w.-]*nvidia\.com/""", re.MULTILINE)
_NVIDIA_ON_ONE_LINE = re.compile(r'"kind"\s*:\s*"[\w.-]*nvidia\.com/')
_LIBRARY = re.compile(r"/lib(?:cuda|nvidia-ml)\.so\.(\d+\.\d+(?:\.\d+)*)")
"""Pattern of a driver library's path. The file name contains the driver's version: libcuda.so.535.309.01
(github.com/NVIDIA/nvidia-container-toolkit, ``cmd/nvidia-ctk/cdi/generate/generate_test.go``)."""


@dataclass(frozen=True, kw_only=True)
class Specification:
    """A specification file."""

    path: str
    versions: tuple[str, ...]
    """Versions of the driver whose libraries the file names."""


def read(folders: Iterable[Path] = FOLDERS) -> tuple[Specification, ...]:
    """Return NVIDIA's specifications; empty if there is no toolkit. Raise ``LookError`` if a specification cannot be
    read."""
    paths = (path for folder in folders for path in sorted(folder.glob("*")) if path.suffix in SUFFIXES)
    return tuple(specification for path in paths if (specification := _specification(path)) is not None)


def _specification(path: Path) -> Specification | None:
    try:
        text = path.read_text(errors="replace")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise LookError(f"{path}: {error.strerror}: what containers are given of the driver is not known") from None
    if not (_NVIDIA.search(text) or _NVIDIA_ON_ONE_LINE.search(text)):
        return None
    return Specification(path=str(path), versions=tuple(sorted(set(_LIBRARY.findall(text)))))


def findings(specifications: Iterable[Specification], *, loaded: str) -> list[GpuFinding]:
    """Return a finding for each specification of another version than the loaded module's. Containers would get files
    that no longer exist, or libraries that the module refuses. ``loaded`` is the version of the loaded module; empty if
    none is loaded."""
    mismatches = []
    for specification in specifications if loaded else ():
        others = [version for version in specification.versions if not agree(version, loaded)]
        if others:
            message = (
                f"{specification.path} gives containers the libraries of {', '.join(others)}, the kernel runs "
                f"{loaded}: have it "
                "made anew (systemctl restart longhaul-gpu-cdi; the device plugin's own by a restart of its pod)"
            )
            mismatches.append(GpuFinding(code=Code.TOOLKIT_MISMATCH, message=message))
    return mismatches
