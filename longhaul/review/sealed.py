"""A copy of a stack whose secrets are taken out, to preview against without a passphrase or a key.

Whoever can change a pull request's code can read what its jobs can read. So they are given the state as it lies in its
backend, with secrets encrypted, and no means to decrypt it. The engine would refuse such a state; in the copy made here
every secret is the same placeholder. Inputs that come from a secret have it on both sides of the comparison, so nothing
seems to change. Only a change of a secret's value cannot be seen, and that is no change of the program or of its files.
"""

from __future__ import annotations

import json
import secrets
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from longhaul.engine.backend import current_backend
from longhaul.engine.locate import engine_binary
from longhaul.engine.throwaway import throwaway_backend
from longhaul.exits import CommandError
from longhaul.project import PROJECT_FILE, Project

SIGNATURE = ("4dabf18193072939515e22adb298388d", "1b47061264138c4ac30d75fd1eb44270")
"""Key and value that mark a secret in a state (pulumi v3.250.0, ``sdk/go/common/resource/sig/sig.go``)."""

PLACEHOLDER = '"taken out for this preview"'
"""What stands for every secret's value: JSON, as the state has plain ones."""

_ENCRYPTION = ("encryptionsalt", "encryptedkey", "secretsprovider")
"""Keys of a stack file that say how its secrets are encrypted."""


@dataclass(frozen=True, kw_only=True)
class Sealed:
    """Where to preview, and with which variables."""

    project: Project
    environ: Mapping[str, str]
    has_state: bool
    """Whether there is a stack to compare with; a preview without one is of a new environment."""
    backend: str
    """The backend's address, which means nothing to anybody: it is not to be shown."""


def sealed(project: Project, env: str, *, folder: Path, environ: Mapping[str, str]) -> Sealed:
    """A project in ``folder`` with this one's program and files, and a backend with the stack's state.

    Raises:
        CommandError: the backend cannot be read.
    """
    copy = _project(project, folder / "project")
    state = _exported(project, env, environ)
    kept = {name: value for name, value in environ.items() if name not in _NOT_PASSED}
    # The code that is under review is what runs, wherever the command itself was installed from.
    kept["PYTHONPATH"] = str(project.root)
    if state is None:
        return Sealed(project=copy, environ={**kept, "PULUMI_BACKEND_URL": ""}, has_state=False, backend="")
    name = str(project.definition()["name"])
    variables = throwaway_backend(folder / "state", project=name, stack=env)
    _put(folder / "state" / ".pulumi" / "stacks" / name / f"{env}.json", state)
    variables["PULUMI_CONFIG_PASSPHRASE"] = secrets.token_urlsafe()
    return Sealed(project=copy, environ={**kept, **variables}, has_state=True, backend=variables["PULUMI_BACKEND_URL"])


_NOT_PASSED = ("GITHUB_TOKEN", "LONGHAUL_ENV", "PULUMI_CONFIG_PASSPHRASE", "PULUMI_CONFIG_PASSPHRASE_FILE")


def without_secrets(value: Any) -> Any:
    """A deployment in which every secret has the same value, and none says how it is encrypted."""
    if isinstance(value, dict):
        if value.get(SIGNATURE[0]) == SIGNATURE[1]:
            return {SIGNATURE[0]: SIGNATURE[1], "plaintext": PLACEHOLDER}
        return {key: without_secrets(inner) for key, inner in value.items() if key != "secrets_providers"}
    if isinstance(value, list):
        return [without_secrets(inner) for inner in value]
    return value


def _project(project: Project, root: Path) -> Project:
    """The project's program and environments, without what says how their secrets are encrypted."""
    import yaml

    root.mkdir(parents=True)
    definition = {key: value for key, value in project.definition().items() if key != "backend"}
    (root / PROJECT_FILE).write_text(yaml.safe_dump(definition, sort_keys=False), encoding="utf-8")
    shutil.copytree(project.stacks, root / "stacks", ignore=shutil.ignore_patterns("__pycache__"))
    copy = Project(root=root)
    for path in copy.stacks.glob("Pulumi.*.yaml"):
        path.write_text(_plain(path.read_text(encoding="utf-8")), encoding="utf-8")
    return copy


def _plain(text: str) -> str:
    """A stack file with those keys emptied; every other line stays where it is, for errors name lines."""
    lines = text.splitlines(keepends=True)
    return "".join("\n" if line.split(":")[0] in _ENCRYPTION else line for line in lines)


def _exported(project: Project, env: str, environ: Mapping[str, str]) -> dict[str, Any] | None:
    """The stack's deployment as its backend has it, secrets encrypted; None when there is no such stack or no backend
    is chosen."""
    url = current_backend(project.definition(), environ).url
    if not url:
        return None
    words = [str(engine_binary(environ)), "stack", "export", "--stack", env, "--non-interactive"]
    given = {**environ, "PULUMI_BACKEND_URL": url, "PULUMI_SKIP_UPDATE_CHECK": "true"}
    done = subprocess.run(
        words, cwd=project.root, env=given, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        if "no stack named" in done.stderr:
            return None
        raise CommandError(f"{env}: its state cannot be read from the backend: {done.stderr.strip()}")
    try:
        content = json.loads(done.stdout)
    except ValueError as error:
        raise CommandError(f"{env}: what the backend has is no state: {error}") from None
    deployment = content.get("deployment") if isinstance(content, dict) else None
    return deployment if isinstance(deployment, dict) else None


def _put(path: Path, deployment: dict[str, Any]) -> None:
    content = json.loads(path.read_text(encoding="utf-8"))
    content["checkpoint"]["latest"] = without_secrets(deployment)
    path.write_text(json.dumps(content), encoding="utf-8")
