"""Secrets of the vault that a machine reads, and the files that it makes of them.

The files themselves are not here: ``/etc/longhaul/secrets.json`` tells the machine's vault/fetch_secrets.py how to make
them. A certificate and its key are one file, so that both are replaced in one step.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from components.model import Authority, Environment, Machine
from components.model.secrets.vault import vault_url
from components.render.documents import json_document
from components.render.file import File
from contract.paths import PKI

PATH = "/etc/longhaul/secrets.json"

METADATA = "http://169.254.169.254/metadata/identity/oauth2/token"
"""Azure's token endpoint for managed identities (learn.microsoft.com, "Use managed identities on an Azure VM to
acquire an access token")."""

PLACEHOLDER = re.compile(r"\$\{([a-z0-9-]+)(?::[a-z]+)?\}")


@dataclass(frozen=True, kw_only=True)
class SecretFile:
    """A file that a machine makes of secrets."""

    path: str
    content: str
    """Text of the file. ``${secret}``, or ``${secret:field}`` for a field of a JSON value, stands for a secret's
    value."""
    mode: int = 0o400
    user: str = "root"
    """Owner, and also the name of the group."""

    @property
    def secrets(self) -> frozenset[str]:
        """Return the names of the secrets in it."""
        return frozenset(PLACEHOLDER.findall(self.content))


def certificate(machine: Machine, part: str, *, user: str) -> SecretFile:
    """Return the file of the machine's certificate ``part`` and its key."""
    name = f"{machine.name}-{part}"
    content = f"${{{name}:certificate}}\n${{{name}:key}}\n"
    return SecretFile(path=f"{PKI}/{part}.pem", content=content, user=user)


def trust(path: str, *authorities: str) -> SecretFile:
    """Return the file of authorities' certificates, without their keys."""
    content = "".join(f"${{trust-{authority}}}\n" for authority in authorities)
    return SecretFile(path=path, content=content, mode=0o444)


def authority(path: str, name: str, *, user: str) -> SecretFile:
    """Return the file of an authority with its key, for a program that signs with it."""
    secret = Authority(name=name, common_name="").secret
    content = f"${{{secret}:certificate}}\n${{{secret}:key}}\n"
    return SecretFile(path=path, content=content, user=user)


def document(environment: Environment, secret_files: Iterable[SecretFile]) -> dict[str, File]:
    """Return the file that tells vault/fetch_secrets.py what to do."""
    value = {
        "vault": vault_url(environment),
        "metadata": METADATA,
        "files": [
            {
                "path": file.path,
                "content": file.content,
                "mode": f"{file.mode:04o}",
                "owner": f"{file.user}:{file.user}",
            }
            for file in secret_files
        ],
    }
    return {PATH: File(content=json_document(value))}
