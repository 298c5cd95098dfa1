"""A backend for one preview: it needs no account and no passphrase from the user, and writes nothing into the project.

``pulumi stack init`` would write a salt into the stack file and cost a start of the engine. So the empty stack is
written in the file backend's format, and the engine gets a copy of the stack file for its salt.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from pathlib import Path

from longhaul.engine.location import pulumi_home
from longhaul.project.stack_file_secrets import has_secrets, without_secret_fields

_LOGS = "logs"
STATE_VERSION = 3
"""Version of the checkpoint format (pulumi, ``sdk/go/common/apitype/deployments.go``)."""


def throwaway_backend(folder: Path, *, project: str, stack: str) -> dict[str, str]:
    """Create a file backend in ``folder`` that holds an empty ``stack``; return the variables that select it."""
    state = folder / ".pulumi" / "stacks" / project / f"{stack}.json"
    state.parent.mkdir(parents=True)
    content = {"version": STATE_VERSION, "checkpoint": {"stack": f"organization/{project}/{stack}"}}
    state.write_text(json.dumps(content), encoding="utf-8")
    (folder / ".pulumi" / "meta.yaml").write_text("version: 1\n", encoding="utf-8")
    return {
        "PULUMI_BACKEND_URL": f"file://{folder}",
        "PULUMI_CONFIG_PASSPHRASE": secrets.token_urlsafe(),
        "PULUMI_CONFIG_PASSPHRASE_FILE": "",
    }


def unlogged_home(folder: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """Create a home for the engine in ``folder``, with the user's content except its logs; return the variable that
    selects it.

    The engine writes every value of each run, packed and encrypted, into ``~/.pulumi/logs``. These logs are a third of
    the engine's work in a preview and more in an update without changes, and no setting prevents them
    (``pkg/v3/logging``, v3.250.0). When the engine cannot create that folder, it continues without logs.
    """
    home = pulumi_home(environ)
    folder.mkdir(parents=True)
    (folder / _LOGS).touch()
    for entry in home.iterdir() if home.is_dir() else ():
        if entry.name != _LOGS:
            (folder / entry.name).symlink_to(entry.absolute())
    return {"PULUMI_HOME": str(folder)}


def copy_stack_file(source: Path, target: Path, *, decrypts: bool) -> None:
    """Copy a stack file. Without ``decrypts``, leave out encrypted values and the settings of their encryption. Raise
    ``ConfigurationError`` when the file cannot be read."""
    from components.model.loading.document import document_text, read_document, read_source

    text = read_source(source)
    if decrypts or not has_secrets(text):
        target.write_text(text, encoding="utf-8")
        return
    target.write_text(document_text(without_secret_fields(read_document(source).data)), encoding="utf-8")


def can_decrypt(source: Path, environ: Mapping[str, str]) -> bool:
    """Return whether the engine can decrypt the stack's secrets without a prompt: by a passphrase, or by a cloud's key
    service."""
    if environ.get("PULUMI_CONFIG_PASSPHRASE") is not None or environ.get("PULUMI_CONFIG_PASSPHRASE_FILE"):
        return True
    lines = source.read_text(encoding="utf-8").splitlines()
    return any(line.startswith("secretsprovider:") and "passphrase" not in line for line in lines)
