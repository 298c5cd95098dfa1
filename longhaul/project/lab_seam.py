"""The only module of the operator's command that knows the lab: whether it exists, how to enter it, its API's port.

A lab keeps its state under ``.lab/<env>/``. The program ``enter`` there runs a command as the lab's operator: in the
lab's network, with its names, credentials and backend, among the host's processes.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from longhaul.terminal.exits import CommandError, Exit

if TYPE_CHECKING:
    from components.model import Environment
    from lab.state import LabState

INSIDE = "LONGHAUL_LAB"
"""Environment variable with the environment's name, in processes that run as the lab's operator."""

ON_LAPTOP = "LONGHAUL_LAB_LAPTOP"
"""Environment variable that is not empty in processes on the lab's laptop, which has no port on the host."""

SMALL, FULL = "lab", "full"
"""Environments of the lab that ``make lab`` starts, and of the lab with everything."""

PASSED = ("LONGHAUL_DEBUG", "LONGHAUL_PULUMI", "NO_COLOR", "TERM", "XDG_STATE_HOME")
"""The user's variables that are passed on to the lab's operator."""


@dataclass(frozen=True, kw_only=True)
class Lab:
    """The lab of one environment."""

    env: str
    folder: Path

    def inside(self) -> bool:
        """Return whether this process already runs as the lab's operator."""
        return os.environ.get(INSIDE) == self.env

    def on_laptop(self) -> bool:
        """Return whether this process runs on the lab's laptop."""
        return bool(os.environ.get(ON_LAPTOP))

    def is_up(self) -> bool:
        """Return whether the lab's process 1 runs."""
        from lab.state import running_init

        return running_init(self._state()) is not None

    def port(self) -> int:
        """Return the port on the host's loopback interface at which the lab's API answers."""
        from lab.state import init_record

        record = init_record(self._state())
        if record is None:
            raise lab_down(self.env)
        return record.port

    def enter(self, arguments: Sequence[str], *, environ: Mapping[str, str]) -> NoReturn:
        """Replace this process by ``longhaul ARGUMENTS``, run as the lab's operator."""
        passed = [f"{name}={environ[name]}" for name in PASSED if name in environ]
        path = str(self.folder / "enter")
        command = [path, "env", f"{INSIDE}={self.env}", *passed, sys.executable, "-m", "longhaul", *arguments]
        _become(path, command)

    def image_manifest(self, image: str = "") -> Path:
        """Return the path of the manifest of the image with this id; without an id, of the lab's first image."""
        from lab.config import LabConfig
        from lab.state import LabError

        try:
            config = LabConfig.read(self._state())
            path = Path(config.images.get(image, config.rootfs)).parent / "manifest.json"
        except LabError as error:
            raise CommandError(str(error), code=Exit.UNREACHABLE) from error
        if not path.is_file():
            raise CommandError(f"{path} is missing: `{lab_command(self.env)}` bakes the lab's image again")
        return path

    def shell(self, machine: str, command: Sequence[str]) -> NoReturn:
        """Replace this process by a shell, or a command, in one of the lab's machines."""
        lab = [sys.executable, "-m", "lab", "shell", "--env", self.env, "--state-root", str(self.folder.parent)]
        _become(sys.executable, [*lab, machine, *(["--", *command] if command else [])])

    def _state(self) -> LabState:
        from lab.state import LabState

        return LabState.of(self.env, root=self.folder.parent)


def _become(path: str, command: list[str]) -> NoReturn:
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(path, command)  # noqa: S606 - no shell is wanted


def require_cloud(environment: Environment) -> None:
    """Refuse an environment whose Azure subscription is a placeholder: it is that of a lab, which is not up."""
    for name, subscription in _imaginary(environment):
        other = f" (`{lab_command(FULL)}` for {FULL})" if environment.name == SMALL else ""
        raise CommandError(
            f"the lab {environment.name!r} is not up: `{lab_command(environment.name)}` starts it{other}. For real "
            f"clouds, write your subscription into sites.{name}.subscription, which has a placeholder ({subscription})",
            code=Exit.UNREACHABLE,
        )


def is_example(environment: Environment) -> bool:
    """Return whether only a lab can build an environment: an Azure subscription in its file is a placeholder."""
    return any(_imaginary(environment))


def _imaginary(environment: Environment) -> Iterator[tuple[str, str]]:
    """Yield the sites whose subscription is a placeholder, each with it."""
    from clouds.base.section import IMAGINARY

    for name, site in environment.sites.items():
        subscription = getattr(site, "subscription", "")
        if subscription.startswith(IMAGINARY):
            yield name, subscription


def lab_down(env: str) -> CommandError:
    """Return the error for a command that needs a lab while the lab is down."""
    return CommandError(f"the lab {env!r} is down; `{lab_command(env)}` brings it up", code=Exit.UNREACHABLE)


def lab_command(env: str) -> str:
    """Return the command that brings a lab up."""
    return "make lab" if env == SMALL else f"make lab ENV={env}"


def find_lab(project: Path, env: str) -> Lab | None:
    """Return the lab of ``env``, up or down; None without one."""
    folder = project / ".lab" / env
    try:
        exists = (folder / "enter").exists()
    except PermissionError:
        raise CommandError(f"the lab {env!r} belongs to root: run this as root", code=Exit.UNREACHABLE) from None
    return Lab(env=env, folder=folder) if exists else None


def stand_ins() -> Path:
    """Return the folder of the stand-ins for provider plugins. It is beside this program, whatever the project is."""
    return Path(__file__).resolve().parents[2] / "lab" / "providers" / "bin"


def pinned_tools() -> Path | None:
    """Return the folder of the pinned tools, whether it exists or not; None when their list cannot be read."""
    from longhaul.toolchain.errors import SetupError
    from longhaul.toolchain.tools import bin_dir

    try:
        return bin_dir()
    except (OSError, SetupError):
        return None
