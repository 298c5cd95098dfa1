"""Location of the engine, and its environment variables."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from longhaul.project.lab_seam import pinned_tools
from longhaul.terminal.exits import CommandError

OVERRIDE = "LONGHAUL_PULUMI"
"""Environment variable with the path of an engine that replaces the pinned engine."""
_OWN = {"PULUMI_SKIP_UPDATE_CHECK": "true", "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true"}
"""Settings of the engine that a user's variable cannot change."""


def engine_binary(environ: Mapping[str, str]) -> Path:
    """Return the engine's path: from ``LONGHAUL_PULUMI``, or else of the pinned engine, or else of the first engine on
    ``PATH``."""
    chosen = environ.get(OVERRIDE)
    if chosen:
        return Path(chosen)
    folder = pinned_tools()
    if folder is not None and os.access(folder / "pulumi", os.X_OK):
        return folder / "pulumi"
    binary = shutil.which("pulumi", path=environ.get("PATH"))
    if binary:
        return Path(binary)
    raise CommandError(
        "the engine, pulumi, is missing: `.venv/bin/python -m lab.tools ensure pulumi` gets the pinned version; "
        "another one can be on PATH or named in LONGHAUL_PULUMI"
    )


def engine_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the engine's environment variables. ``PATH`` begins with this interpreter's and the engine's folders. The
    engine downloads no plugin by itself, since it would not check any checksum. Its home is named, because it goes by
    the system's list of users and not by ``HOME`` (v3.250.0, ``sdk/go/common/workspace/paths.go``).

    A language host that was built from its module ignores the project's ``virtualenv``, and starts the first ``python``
    on ``PATH`` and the scripts beside it.
    """
    folders = [str(Path(sys.executable).parent), str(engine_binary(environ).parent), environ.get("PATH", "")]
    path = os.pathsep.join(folder for folder in folders if folder)
    return {**_with_bytecode(environ), "PATH": path, "PULUMI_HOME": str(pulumi_home(environ)), **_OWN}


def pulumi_home(environ: Mapping[str, str]) -> Path:
    """Return the folder with the engine's login and plugins."""
    home = environ.get("PULUMI_HOME")
    return Path(home) if home else Path(environ.get("HOME", str(Path.home()))) / ".pulumi"


def _with_bytecode(environ: Mapping[str, str]) -> dict[str, str]:
    """Move bytecode to the cache when the user wants none beside the sources: compiling the SDKs on each start takes
    seconds."""
    kept = dict(environ)
    if kept.pop("PYTHONDONTWRITEBYTECODE", ""):
        base = environ.get("XDG_CACHE_HOME") or str(Path(environ.get("HOME", str(Path.home()))) / ".cache")
        kept.setdefault("PYTHONPYCACHEPREFIX", str(Path(base) / "longhaul" / "bytecode"))
    return kept
