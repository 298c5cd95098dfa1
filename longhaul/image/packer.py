"""Packer itself: the pinned program with its pinned plugins, and a run that can be watched and stopped."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from longhaul.engine import processes
from longhaul.engine.execution import EngineResult, run_engine
from longhaul.engine.records import VARIABLE, new_run
from longhaul.terminal.exits import CommandError
from longhaul.terminal.say import say
from longhaul.toolchain.cache import cache_root, digest, ensure_folder
from longhaul.toolchain.errors import SetupError
from longhaul.toolchain.spec import repository
from longhaul.toolchain.tools import ensure

OVERRIDE = "LONGHAUL_PACKER"
"""Environment variable with the path of a `packer` that replaces the pinned program, and that finds its plugins
itself."""

TEMPLATES = repository() / "images" / "packer"
PLUGINS = {
    "github.com/hashicorp/amazon": "packer-plugin-amazon",
    "github.com/hashicorp/azure": "packer-plugin-azure",
}
"""Plugins that the templates require, each with its tool in tools.toml."""
DRAIN_S = 5.0
"""Seconds to wait for the rest of a run's output after the run has ended."""


@dataclass(frozen=True, kw_only=True)
class Packer:
    """A Packer that can be run."""

    binary: Path
    plugins: Path | None
    """Folder of Packer's plugins; None when Packer finds its plugins itself."""

    def environment(self, environ: Mapping[str, str], *, folder: Path) -> dict[str, str]:
        """Return Packer's environment variables. The variables switch Packer's update check off and keep Packer's files
        in ``folder``."""
        kept = {name: value for name, value in environ.items() if not name.startswith("PKR_VAR_")}
        plugin_path = {} if self.plugins is None else {"PACKER_PLUGIN_PATH": str(self.plugins)}
        return {
            **kept,
            **plugin_path,
            "CHECKPOINT_DISABLE": "1",
            "PACKER_CACHE_DIR": str(folder),
            "PACKER_CONFIG_DIR": str(folder),
            "TMPDIR": str(folder),
        }


def find_packer(environ: Mapping[str, str], *, log_dir: Path) -> Packer:
    """Return the Packer that the user names, or else the pinned Packer with its plugins, which the first call builds.
    Raise ``CommandError`` when there is no Packer."""
    if chosen := environ.get(OVERRIDE):
        if not os.access(chosen, os.X_OK):
            raise CommandError(f"{OVERRIDE} is {chosen}, which cannot be run")
        return Packer(binary=Path(chosen), plugins=None)
    try:
        binaries = ensure(["packer", *PLUGINS.values()], log_dir=log_dir, progress=say)
        plugins = _install({source: binaries[name] for source, name in PLUGINS.items()}, binaries["packer"])
    except SetupError as error:
        raise CommandError(str(error)) from error
    return Packer(binary=binaries["packer"], plugins=plugins)


def _install(plugins: Mapping[str, Path], packer: Path) -> Path:
    """Let Packer install the plugins into a folder in its own layout; return that folder."""
    place = cache_root() / "packer-plugins" / digest(str(packer), {key: str(path) for key, path in plugins.items()})

    def make(into: Path) -> None:
        environ = Packer(binary=packer, plugins=into).environment(os.environ, folder=into)
        for source, binary in plugins.items():
            argv = [str(packer), "plugins", "install", "--path", str(binary), source]
            done = subprocess.run(argv, env=environ, cwd=into, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                raise SetupError(f"packer does not take its plugin {binary}: {(done.stderr or done.stdout).strip()}")

    ensure_folder(place, make, what="Packer's plugins", progress=say)
    return place


def run_packer(argv: Sequence[str], *, environ: Mapping[str, str], log: Path, shown: IO[bytes]) -> EngineResult:
    """Run a command of Packer. Its output goes to ``shown`` and into the file ``log``.

    When asked to end, Packer ends its build and removes everything that the build made. Packer accepts only SIGTERM
    from this program: its first process ignores SIGINT, which a terminal also sends to its second process (main.go of
    Packer, panicwrap).
    """
    run = new_run("packer")
    reading, writing = os.pipe()
    copier = threading.Thread(target=_copy, args=(reading, log, shown), daemon=True)
    with os.fdopen(writing, "wb") as end:
        result = run_engine(
            # Both outputs go into one pipe, in their order.
            ["/bin/sh", "-c", 'exec "$@" 2>&1', "packer", *argv],
            cwd=TEMPLATES,
            environ={**environ, VARIABLE: run.id},
            stdout=end,
            started=lambda _pid: copier.start(),
            asking=signal.SIGTERM,
        )
    # A killed playbook leaves its workers behind.
    processes.terminate(run.leftovers())
    copier.join(DRAIN_S)
    return result


def _copy(reading: int, log: Path, shown: IO[bytes]) -> None:
    """Copy the output to the log and to ``shown``. When nobody reads ``shown`` any more, Packer must not die of
    that."""
    with os.fdopen(reading, "rb", buffering=0) as source, log.open("ab") as file:
        while piece := source.read(1 << 16):
            file.write(piece)
            file.flush()
            with suppress(OSError):
                shown.write(piece)
                shown.flush()
