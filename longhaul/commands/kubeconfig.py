"""``longhaul kubeconfig``: an administrator's kubeconfig, made from the vault's break-glass certificate."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path

from longhaul.cluster import fetch_identity, kubeconfig
from longhaul.context import Context, context, enter_lab, write_private
from longhaul.exits import Exit
from longhaul.invocation import Invocation

HELP = "write an administrator's kubeconfig and print its path"
TAKES_REST = False


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add nothing: ``kubeconfig`` has no options of its own."""


def run(invocation: Invocation) -> int:
    """Fetch the certificate with the operator's own credentials, write the file, and print its path."""
    where = context(invocation)
    environment = where.project.load(where.env)
    enter_lab(where, environment, invocation)
    identity = fetch_identity(environment)
    port = environment.control_plane.api.port
    content = kubeconfig(
        name=where.env,
        server=f"https://127.0.0.1:{where.lab.port()}" if where.lab else f"https://{environment.api_name}:{port}",
        server_name=environment.api_name if where.lab else None,
        identity=identity,
    )
    path = _path(where)
    write_private(path, json.dumps(content, indent=2) + "\n")
    print(path)
    return Exit.OK


def _path(where: Context) -> Path:
    if where.lab is not None:
        return where.lab.folder / "kubeconfig"
    base = os.environ.get("XDG_CONFIG_HOME")
    return (Path(base) if base else Path.home() / ".config") / "longhaul" / where.env / "kubeconfig"
