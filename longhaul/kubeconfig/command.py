"""``longhaul kubeconfig``: write a kubeconfig with an administrator's certificate that is valid for hours, or with the
vault's break-glass certificate."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from contract.kubernetes.api import identity_of
from contract.lifetimes import ADMINISTRATOR_HOURS
from longhaul.client.files import config_folder, write_private
from longhaul.cluster.api_access import ADMIN, kubeconfig
from longhaul.cluster.identity import fetch_break_glass, fetch_identity
from longhaul.project.context import context, enter_lab
from longhaul.project.invocation import Invocation
from longhaul.project.lab_seam import Lab
from longhaul.terminal.exits import Exit
from longhaul.terminal.say import say

HELP = f"write an administrator's kubeconfig, good for {ADMINISTRATOR_HOURS} hours, and print its path"
REST = ""
BREAK_GLASS = "break-glass"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the option of ``kubeconfig``."""
    parser.add_argument(
        f"--{BREAK_GLASS}",
        action="store_true",
        help="the vault's break-glass certificate, for when administrators have no rights",
    )


def run(invocation: Invocation) -> int:
    """Make or fetch the certificate with the operator's own credentials, write the file, and print its path. A file
    whose certificate remains valid for some hours is kept."""
    where = context(invocation)
    environment = where.project.load(where.env)
    enter_lab(where, environment, invocation)
    broken = bool(invocation.options.break_glass)
    lab, port = where.lab_with_port, environment.control_plane.api.port
    path = _path(lab, where.env, broken=broken)
    identity = fetch_break_glass(environment) if broken else fetch_identity(environment, kept=_kept(path))
    content = kubeconfig(
        name=where.env,
        server=f"https://127.0.0.1:{lab.port()}" if lab else f"https://{environment.api_name}:{port}",
        server_name=environment.api_name if lab else None,
        identity=identity,
        user=BREAK_GLASS if broken else ADMIN,
    )
    write_private(path, json.dumps(content, indent=2) + "\n")
    if broken:
        say("this certificate has every right and lives for months: delete the file when you are done")
    print(path)
    return Exit.OK


def _kept(path: Path) -> Mapping[str, str] | None:
    """Return the identity in the existing file; None when it has none that is usable."""
    with suppress(OSError, LookupError, TypeError, ValueError):
        content: Any = json.loads(path.read_text(encoding="utf-8"))
        return identity_of(content)
    return None


def _path(lab: Lab | None, env: str, *, broken: bool) -> Path:
    name = f"kubeconfig.{BREAK_GLASS}" if broken else "kubeconfig"
    return (lab.folder if lab else config_folder(env)) / name
