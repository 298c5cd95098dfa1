"""Files for SSH: the pinned host keys, and the folder of open connections."""

from __future__ import annotations

import hashlib
import os
import stat
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from longhaul.client.files import write_private
from longhaul.project.context import Context, state_folder
from longhaul.racks.inventory import OnpremMachine, Reach, known_hosts, ssh_options
from longhaul.terminal.exits import CommandError

if TYPE_CHECKING:
    from components.model import Environment

USER = "LONGHAUL_SSH_USER"
"""Environment variable with the account on the racks' machines: root, or an account that may use sudo without a
password."""
LONGEST = 75
"""Maximum length of the path of the folder of sockets, characters. A socket's path may have 108 bytes (unix(7)); the
rest is for the name that Ansible gives to a socket, and for the suffix that ssh adds while it creates the socket."""
IMPATIENT = "LONGHAUL_SSH_IMPATIENT"
"""Environment variable that is not empty when machines must answer now: they are neither booting nor behind a tunnel
that is being set up."""
KEY = "LONGHAUL_SSH_KEY"
"""Environment variable with the file of the private key for the racks' machines."""


def prepare(where: Context, environment: Environment, environ: Mapping[str, str]) -> Reach:
    """Write the pinned host keys, create the folder of connections, and return the SSH settings."""
    pinned = state_folder(where, environ) / f"{where.env}.known_hosts"
    write_private(pinned, known_hosts(environment))
    return Reach(
        known_hosts=pinned,
        control_folder=_control_folder(where, environ),
        user=environ.get(USER) or "root",
        key=environ.get(KEY) or None,
        patient=not environ.get(IMPATIENT),
    )


def ssh(machine: OnpremMachine, reach: Reach, command: Sequence[str]) -> NoReturn:
    """Replace this process by ``ssh`` to a machine of the racks. Raise ``CommandError`` when its host key is not
    pinned."""
    if not machine.host_key:
        raise CommandError(
            f"the SSH host key of {machine.name} is not known: write it as `host_key` ({machine.pin_at})"
        )
    sys.stdout.flush()
    sys.stderr.flush()
    wanted = ["--", *command] if command else []
    os.execvp("ssh", ["ssh", *ssh_words(machine, reach), *wanted])  # noqa: S606 - no shell


def ssh_words(machine: OnpremMachine, reach: Reach, *, patient: bool | None = None) -> list[str]:
    """Return the arguments with which ``ssh`` connects to a machine. ``patient`` overrides the setting in ``reach``."""
    known = reach if patient is None else replace(reach, patient=patient)
    options = {**ssh_options(known), "HostKeyAlias": machine.name}
    key = ["-i", reach.key, "-o", "IdentitiesOnly=yes"] if reach.key else []
    words = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
    return [*words, *key, f"{reach.user}@{machine.reached_at}"]


def _control_folder(where: Context, environ: Mapping[str, str]) -> Path:
    """Return a folder for this environment alone, in which nobody else can place a socket: two labs have equal
    addresses."""
    folder = state_folder(where, environ) / "ssh-control"
    if len(str(folder)) > LONGEST:
        digest = hashlib.sha256(f"{where.project.root}\0{where.env}".encode()).hexdigest()[:12]
        folder = Path(tempfile.gettempdir()) / f"longhaul-{os.getuid()}-{digest}"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid() or stat.S_IMODE(status.st_mode) & 0o077:
        raise CommandError(f"{folder}, for SSH's sockets, must be a folder of yours with mode 0700: remove it")
    return folder
