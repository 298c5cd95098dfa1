"""Programs that Ansible itself starts: the inventory script and the lookups of the playbooks. Environment variables
choose their input: ``LONGHAUL_ENV`` or ``PULUMI_STACK`` the environment, ``LONGHAUL_PROJECT`` the checkout."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from longhaul.project.checkout import find_project
from longhaul.project.context import Context
from longhaul.project.lab_seam import find_lab, pinned_tools
from longhaul.terminal.exits import CommandError, Exit

PROJECT = "LONGHAUL_PROJECT"
CHECKOUT = Path(__file__).resolve().parents[2]


def place(environ: Mapping[str, str]) -> Context:
    """Return project, environment and lab from environment variables."""
    project = find_project(environ.get(PROJECT) or str(CHECKOUT))
    env = environ.get("LONGHAUL_ENV") or environ.get("PULUMI_STACK")
    if not env:
        known = ", ".join(project.environments()) or "none has a file yet"
        raise CommandError(f"which environment? Set LONGHAUL_ENV (here: {known})", code=Exit.USAGE)
    return Context(project=project, env=env, lab=find_lab(project.root, env))


def rendered_inventory(environ: Mapping[str, str]) -> dict[str, Any]:
    """Return the inventory of the environment that ``environ`` names, and write the file of host keys that it refers
    to."""
    from longhaul.racks.inventory import inventory
    from longhaul.racks.ssh import prepare

    where = place(environ)
    environment = where.project.load(where.env)
    return inventory(environment, prepare(where, environment, environ), more={"kubectl": kubectl(environ)})


def host_map(environ: Mapping[str, str], host: str, *, kubernetes_ca: str) -> dict[str, dict[str, Any]]:
    """Return every file of a bare-metal host by path: ``content``, ``mode``, ``owner``, ``secret``."""
    from components.model import plan
    from components.render import host_files

    where = place(environ)
    environment = where.project.load(where.env)
    files = host_files(environment, plan(environment), host, kubernetes_ca=kubernetes_ca)
    return {path: _plain(file) for path, file in files.items()}


def join_map(environ: Mapping[str, str], *, token: str) -> dict[str, dict[str, Any]]:
    """Return the file with which a host joins, by its path."""
    from components.model import plan
    from components.render import join_kubeconfig
    from contract.documents.join_kubeconfig import PATH

    where = place(environ)
    environment = where.project.load(where.env)
    return {PATH: _plain(join_kubeconfig(environment, plan(environment), token=token))}


def kubectl(environ: Mapping[str, str]) -> str:
    """Return the path of the pinned kubectl, or else of the first kubectl on ``PATH``."""
    folder = pinned_tools()
    if folder is not None and os.access(folder / "kubectl", os.X_OK):
        return str(folder / "kubectl")
    return shutil.which("kubectl", path=environ.get("PATH")) or "kubectl"


def _plain(file: Any) -> dict[str, Any]:
    return {"content": file.content, "mode": f"{file.mode:04o}", "owner": file.owner, "secret": file.secret}


def main() -> int:
    """Serve Ansible's inventory protocol: ``--list``, and ``--host``, which Ansible does not call because of
    ``_meta``."""
    from components.model import ConfigurationError

    parser = argparse.ArgumentParser(prog="playbooks/inventory.py", description="Ansible's inventory of an environment")
    asked = parser.add_mutually_exclusive_group(required=True)
    asked.add_argument("--list", action="store_true", help="all groups and hosts")
    asked.add_argument("--host", metavar="NAME", help="one host's variables")
    options = parser.parse_args()
    try:
        content = rendered_inventory(os.environ)
    except (CommandError, ConfigurationError) as error:
        print(f"inventory: {error}", file=sys.stderr)
        return Exit.USAGE
    print(json.dumps(content["_meta"]["hostvars"].get(options.host, {}) if options.host else content, indent=2))
    return Exit.OK
