"""``longhaul kubeconfig``: an administrator's kubeconfig, made from the vault's break-glass certificate."""

from __future__ import annotations

import argparse
import base64
import json
import os
from pathlib import Path
from typing import Any

from components.model.certificates import ADMINISTRATOR
from longhaul.cli import Invocation
from longhaul.context import Context, context, enter_lab
from longhaul.exits import CommandError, Exit

HELP = "write an administrator's kubeconfig and print its path"
TAKES_REST = False


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """``kubeconfig`` has no options of its own."""


def run(invocation: Invocation) -> int:
    """Fetch the certificate with the operator's own credentials, write the file, print where it is."""
    from components.model.vault import vault_url

    where = context(invocation)
    environment = where.project.load(where.env)
    enter_lab(where, environment, invocation)
    identity = fetch_identity(vault_url(environment), where.env)
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


def fetch_identity(url: str, env: str) -> dict[str, str]:
    """Certificate, key and issuer, PEM; ``CommandError`` when the vault does not give them."""
    from components.azure.api import AzureError, Vault

    try:
        value = Vault(url).get(ADMINISTRATOR)
    except AzureError as error:
        code = Exit.FAILED if error.status else Exit.UNREACHABLE
        raise CommandError(f"the vault of {env}: {error}", code=code) from None
    if value is None:
        raise CommandError(f"the vault of {env} has no {ADMINISTRATOR} yet: `longhaul up --env {env}` makes it")
    try:
        secret = json.loads(value)
        return {key: str(secret[key]) for key in ("certificate", "key", "issuer")}
    except (ValueError, KeyError, TypeError):
        raise CommandError(
            f"the secret {ADMINISTRATOR} in the vault of {env} is not what `longhaul up` writes"
        ) from None


def kubeconfig(*, name: str, server: str, server_name: str | None, identity: dict[str, str]) -> dict[str, Any]:
    """The kubeconfig with everything embedded. JSON is YAML, and kubectl reads it so."""
    cluster: dict[str, Any] = {"server": server, "certificate-authority-data": _base64(identity["issuer"])}
    if server_name is not None:
        cluster["tls-server-name"] = server_name
    user = {
        "client-certificate-data": _base64(identity["certificate"]),
        "client-key-data": _base64(identity["key"]),
    }
    admin = f"{name}-admin"
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": cluster}],
        "users": [{"name": admin, "user": user}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": admin}}],
        "current-context": name,
    }


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner reads, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.unlink(missing_ok=True)
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _path(where: Context) -> Path:
    if where.lab is not None:
        return where.lab.folder / "kubeconfig"
    base = os.environ.get("XDG_CONFIG_HOME")
    return (Path(base) if base else Path.home() / ".config") / "longhaul" / where.env / "kubeconfig"


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
