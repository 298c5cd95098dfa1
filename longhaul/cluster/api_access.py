"""Access to the cluster's API for the operator: kubeconfigs with the load balancer's address and an identity."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from longhaul.client.files import write_private
from longhaul.cluster.identity import fetch_identity, identity_renewer
from longhaul.engine.processes import start_ticks
from longhaul.project.context import Context, state_folder

if TYPE_CHECKING:
    from components.model import Environment
    from contract.kubernetes.api import Api

GIVEN = "LONGHAUL_KUBECONFIG"
"""Environment variable with the path of a kubeconfig that the parent process made for the environment."""

ADMIN = "admin"
"""Default suffix of the user's name in a kubeconfig."""


def kubeconfig(
    *, name: str, server: str, server_name: str | None, identity: Mapping[str, str], user: str = ADMIN
) -> dict[str, Any]:
    """Return a kubeconfig with embedded certificates. It is written as JSON, which kubectl reads as YAML."""
    cluster: dict[str, Any] = {"server": server, "certificate-authority-data": _base64(identity["issuer"])}
    if server_name is not None:
        cluster["tls-server-name"] = server_name
    credentials = {
        "client-certificate-data": _base64(identity["certificate"]),
        "client-key-data": _base64(identity["key"]),
    }
    who = f"{name}-{user}"
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": cluster}],
        "users": [{"name": who, "user": credentials}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": who}}],
        "current-context": name,
    }


@contextmanager
def kubeconfig_file(
    where: Context, environment: Environment, environ: Mapping[str, str], *, master: bool = False
) -> Iterator[Path]:
    """Write a kubeconfig for programs that this process starts, and delete it after the block. Files that killed
    processes left are deleted too. The user's own ``KUBECONFIG`` is ignored: it may be for another cluster. For
    ``master`` see :func:`longhaul.cluster.identity.fetch_identity`."""
    from components.model import plan
    from components.model.network.api_address import api_url

    given = environ.get(GIVEN)
    if given:
        yield Path(given)
        return
    identity = fetch_identity(environment, master=master)
    server = api_url(environment, plan(environment))
    content = kubeconfig(name=where.env, server=server, server_name=None, identity=identity)
    folder = state_folder(where, environ)
    for left in folder.glob(f"{where.env}.*.kubeconfig"):
        if start_ticks(int(left.name.split(".")[-2])) is None:
            left.unlink(missing_ok=True)
    path = folder / f"{where.env}.{os.getpid()}.kubeconfig"
    write_private(path, json.dumps(content) + "\n")
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)


@contextmanager
def api_of(
    where: Context, environment: Environment, environ: Mapping[str, str], *, master: bool = False
) -> Iterator[Api]:
    """Give the cluster's API, with a certificate that is renewed during the block. The certificate of a ``master``
    (:func:`longhaul.cluster.identity.fetch_identity`) is not renewed: it is valid for a working day."""
    from contract.kubernetes.api import Api

    with kubeconfig_file(where, environment, environ, master=master) as path:
        renew = None if master or GIVEN in environ else identity_renewer(environment)
        yield Api.of(json.loads(path.read_text(encoding="utf-8")), renew=renew)


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
