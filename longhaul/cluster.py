"""Access to the cluster's API for the operator: its load balancer's address and the break-glass certificate."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from components.model.certificates import ADMINISTRATOR
from longhaul.context import Context, state_folder, write_private
from longhaul.engine.processes import started
from longhaul.exits import CommandError, Exit

if TYPE_CHECKING:
    from components.model import Environment

GIVEN = "LONGHAUL_KUBECONFIG"
"""Variable with the path of a kubeconfig that the parent process made for the environment."""


def fetch_identity(environment: Environment) -> dict[str, str]:
    """Return the administrator's certificate, key and issuer, PEM; ``CommandError`` when the vault does not give
    them."""
    from clouds.base.errors import CloudError
    from clouds.registry import cloud_of
    from components.model.places import place_of
    from components.model.vault import vault_name

    env, place = environment.name, place_of(environment, environment.control_plane.site)
    control = cloud_of(place.site).control
    if control is None:
        said = f"there is no way yet to read the administrator's credentials of a control plane on {place.site.kind}"
        raise CommandError(said, code=Exit.UNREACHABLE)
    try:
        value = control.secret(place, vault_name(environment), ADMINISTRATOR)
    except CloudError as error:
        code = Exit.FAILED if error.answered else Exit.UNREACHABLE
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


def kubeconfig(*, name: str, server: str, server_name: str | None, identity: Mapping[str, str]) -> dict[str, Any]:
    """Return a kubeconfig with everything embedded. It is written as JSON, which kubectl reads as YAML."""
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


@contextmanager
def kubeconfig_file(where: Context, environment: Environment, environ: Mapping[str, str]) -> Iterator[Path]:
    """Write a kubeconfig for programs that this process starts, and delete it after the block. Files that killed
    processes left are deleted too. The user's own ``KUBECONFIG`` is ignored: it may be for another cluster."""
    from components.model import plan
    from components.model.nodes import api_url

    given = environ.get(GIVEN)
    if given:
        yield Path(given)
        return
    identity = fetch_identity(environment)
    server = api_url(environment, plan(environment))
    content = kubeconfig(name=where.env, server=server, server_name=None, identity=identity)
    folder = state_folder(where, environ)
    for left in folder.glob(f"{where.env}.*.kubeconfig"):
        if started(int(left.name.split(".")[-2])) is None:
            left.unlink(missing_ok=True)
    path = folder / f"{where.env}.{os.getpid()}.kubeconfig"
    write_private(path, json.dumps(content) + "\n")
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
