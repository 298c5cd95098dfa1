"""Secrets of the vault that a machine reads, and the files that it makes of them.

The files themselves are not here: a document tells the machine how to make them. A certificate and its key are one
file, so that both are replaced in one step.
"""

from __future__ import annotations

from collections.abc import Iterable

from components.model import Authority, Environment, Machine
from components.model.secrets.vault import vault_url
from components.render.file import File
from contract.documents.secret_files import PATH, SecretFile, SecretFiles
from contract.paths import PKI

METADATA = "http://169.254.169.254/metadata/identity/oauth2/token"
"""Azure's token endpoint for managed identities (learn.microsoft.com, "Use managed identities on an Azure VM to
acquire an access token")."""


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
    """Return the document that tells the machine how to make its files."""
    content = SecretFiles(vault=vault_url(environment), metadata=METADATA, files=tuple(secret_files)).to_text()
    return {PATH: File(content=content)}
