"""A backend for one preview: it needs no account and no passphrase of the user's, and writes nothing into the project.
The engine gets a copy of the stack file, into which it writes its salt."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from longhaul.engine.backend import pulumi_home
from longhaul.engine.engine import bare_project, reason
from longhaul.engine.locate import engine_binary
from longhaul.engine.run import ask_engine
from longhaul.exits import CommandError

PLACEHOLDER = "not decrypted for this preview"
_ENCRYPTION = ("encryptionsalt", "encryptedkey", "secretsprovider")
"""Keys of a stack file that describe the encryption of its secrets."""

_LOGS = "logs"


def throwaway_backend(folder: Path) -> dict[str, str]:
    """Create a file backend in ``folder``, without a stack; return the variables that select it."""
    folder.mkdir(parents=True)
    return {
        "PULUMI_BACKEND_URL": f"file://{folder}",
        "PULUMI_CONFIG_PASSPHRASE": secrets.token_urlsafe(),
        "PULUMI_CONFIG_PASSPHRASE_FILE": "",
    }


def make_stack(stack: str, *, project: str, environ: Mapping[str, str], state: Mapping[str, Any] | None = None) -> None:
    """Create a stack in the backend that ``environ`` selects: empty, or with the content of ``state``, a document as
    ``pulumi stack export`` writes it."""
    with bare_project(project) as folder:
        commands = [("init", "--no-select")]
        if state is not None:
            (folder / "state.json").write_text(json.dumps(state), encoding="utf-8")
            commands.append(("import", "--file=state.json"))
        for words in commands:
            argv = [str(engine_binary(environ)), "stack", *words, "--stack", stack]
            done = ask_engine(argv, cwd=folder, environ=environ)
            if done.returncode != 0:
                raise CommandError(f"a temporary stack {stack} cannot be made: {reason(done)}")


def unlogged_home(folder: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """Create a home for the engine in ``folder``, with the user's content except its logs; return the variable that
    selects it.

    The engine writes every value of each run, packed and encrypted, into ``~/.pulumi/logs``. That is a third of its
    work in a preview, and no setting prevents it (``pkg/v3/logging``, v3.250.0); when it cannot make that folder, it
    continues without. When it may have to download its first plugin, the user's own home is used, so that the plugin is
    kept.
    """
    home = pulumi_home(environ)
    if not (home / "plugins").is_dir() and not environ.get("PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION"):
        return {}
    folder.mkdir(parents=True)
    (folder / _LOGS).touch()
    for entry in home.iterdir() if home.is_dir() else ():
        if entry.name != _LOGS:
            (folder / entry.name).symlink_to(entry.absolute())
    return {"PULUMI_HOME": str(folder)}


def copy_stack_file(source: Path, target: Path, *, decrypts: bool) -> None:
    """Copy a stack file. Without ``decrypts``, leave out encrypted values and the settings of their encryption."""
    text = source.read_text(encoding="utf-8")
    if decrypts or not _encrypts(text):
        target.write_text(text, encoding="utf-8")
        return
    import yaml

    content = yaml.safe_load(text)
    kept = {key: value for key, value in content.items() if key not in _ENCRYPTION}
    target.write_text(yaml.safe_dump(_without_secrets(kept)), encoding="utf-8")


def can_decrypt(source: Path, environ: Mapping[str, str]) -> bool:
    """Return whether the engine can read the stack's secrets without asking: by passphrase, or by a cloud's key
    service."""
    if environ.get("PULUMI_CONFIG_PASSPHRASE") is not None or environ.get("PULUMI_CONFIG_PASSPHRASE_FILE"):
        return True
    lines = source.read_text(encoding="utf-8").splitlines()
    return any(line.startswith("secretsprovider:") and "passphrase" not in line for line in lines)


def _encrypts(text: str) -> bool:
    return any(f"{sign}:" in text for sign in ("secure", *_ENCRYPTION))


def _without_secrets(value: Any) -> Any:
    if isinstance(value, dict):
        if set(value) == {"secure"}:
            return PLACEHOLDER
        return {key: _without_secrets(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_without_secrets(inner) for inner in value]
    return value
