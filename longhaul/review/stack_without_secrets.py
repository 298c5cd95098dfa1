"""Copies a stack without its secrets, for previews that need no passphrase or key.

A pull request's jobs are controlled by everybody who can change its code. So the jobs get the state as the backend
stores it, with secrets encrypted, and no means to decrypt it. The engine would refuse such a state. In the copy made
here, every secret is the same placeholder. Inputs that come from a secret have the placeholder on both sides of the
comparison, so nothing seems to change. Only a change of a secret's value is invisible, and that is not a change of the
program or its files.
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

from clouds.base.inputs import SECRET, SIGNATURE
from components.model.loading.document import document_text, parse_document, read_source
from components.model.loading.document_error import DocumentError
from components.model.loading.errors import ConfigurationError
from contract.project import OBJECTS, PLUGIN_CHECKSUMS, PROJECT_FILE, STACKS
from longhaul.engine.backend import current_backend
from longhaul.engine.location import engine_binary
from longhaul.engine.throwaway import throwaway_backend
from longhaul.project.checkout import Project
from longhaul.project.stack_file_secrets import ENCRYPTION
from longhaul.terminal.exits import CommandError

PLACEHOLDER = '"taken out for this preview"'
"""Text in place of every secret's value. It is JSON, because a state stores the plain values of secrets as JSON."""


@dataclass(frozen=True, kw_only=True)
class SealedProject:
    """Project and variables for a preview."""

    project: Project
    environ: Mapping[str, str]
    has_state: bool
    """True when there is a stack to compare with. Without a stack, the preview is of a new environment."""
    backend: str
    """URL of the temporary backend. It has no meaning for people, so it must not be shown."""


def project_without_secrets(
    project: Project, env: str, *, folder: Path, program: Path, environ: Mapping[str, str]
) -> SealedProject:
    """Return a project in ``folder`` with this project's files, and a backend with the stack's state. Its plans run the
    packages in ``program``, wherever the command itself is installed.

    Raises:
        CommandError: the backend cannot be read.
    """
    copy = _project(project, folder / "project", env=env)
    _take_checksums(copy, program)
    state = _exported(project, env, environ)
    kept = {name: value for name, value in environ.items() if name not in _NOT_PASSED}
    kept["PYTHONPATH"] = str(program)
    if state is None:
        return SealedProject(project=copy, environ={**kept, "PULUMI_BACKEND_URL": ""}, has_state=False, backend="")
    name = str(project.definition()["name"])
    variables = throwaway_backend(folder / "state", project=name, stack=env)
    _put(folder / "state" / ".pulumi" / "stacks" / name / f"{env}.json", state)
    variables["PULUMI_CONFIG_PASSPHRASE"] = secrets.token_urlsafe()
    return SealedProject(
        project=copy, environ={**kept, **variables}, has_state=True, backend=variables["PULUMI_BACKEND_URL"]
    )


_NOT_PASSED = ("GITHUB_TOKEN", "LONGHAUL_ENV", "PULUMI_CONFIG_PASSPHRASE", "PULUMI_CONFIG_PASSPHRASE_FILE")


def without_secrets(value: Any) -> Any:
    """Return a deployment in which every secret has the same value and the settings of the encryption are missing."""
    if isinstance(value, dict):
        if value.get(SIGNATURE) == SECRET:
            return {SIGNATURE: SECRET, "plaintext": PLACEHOLDER}
        return {key: without_secrets(inner) for key, inner in value.items() if key != "secrets_providers"}
    if isinstance(value, list):
        return [without_secrets(inner) for inner in value]
    return value


def _project(project: Project, root: Path, *, env: str) -> Project:
    """Copy the project's program and environments, without the keys about the encryption of their secrets.

    Links stay links: their targets are not copied, since they may be endless. Unreadable files of other environments
    are left out, so that they make only their own environments' plans fail.
    """
    root.mkdir(parents=True)
    definition = {key: value for key, value in project.definition().items() if key != "backend"}
    (root / PROJECT_FILE).write_text(document_text(definition), encoding="utf-8")
    shutil.copytree(project.stacks, root / "stacks", ignore=shutil.ignore_patterns("__pycache__"), symlinks=True)
    copy = Project(root=root)
    kept = {copy.stack_file(name) for name in (env, f"{env}{OBJECTS}")}
    for path in copy.stacks.glob("Pulumi.*.yaml"):
        try:
            text = _plain(read_source(path))
        except ConfigurationError:
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            elif path not in kept:
                path.unlink()
        else:
            path.write_text(text, encoding="utf-8")
            if path in kept:
                _check_no_encryption(path, text)
    return copy


def _take_checksums(copy: Project, program: Path) -> None:
    """Have plugins compared with the checksums in ``program``, by which they were installed, and not with those of the
    change under review."""
    place, source = copy.stacks / PLUGIN_CHECKSUMS, program / STACKS / PLUGIN_CHECKSUMS
    if not source.is_file():
        return
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    # A link would have the file that it names written.
    place.unlink(missing_ok=True)
    shutil.copyfile(source, place)


def _check_no_encryption(path: Path, text: str) -> None:
    """Raise ``CommandError`` when the file still tells the engine which server decrypts its secrets."""
    try:
        left = [key for key in ENCRYPTION if key in parse_document(text).data]
    except DocumentError:
        # Validation reports it.
        return
    if left:
        raise CommandError(f"{path.name}: write `{left[0]}: …` on a line of its own and without quotes")


def _plain(text: str) -> str:
    """Return a stack file in which the lines about the encryption of secrets are empty. Every other line keeps its
    number, because errors name line numbers."""
    lines = text.splitlines(keepends=True)
    return "".join("\n" if line.split(":")[0] in ENCRYPTION else line for line in lines)


def _exported(project: Project, env: str, environ: Mapping[str, str]) -> dict[str, Any] | None:
    """Return the stack's deployment from its backend, with secrets encrypted; None when there is no such stack or no
    backend is configured."""
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
        raise CommandError(f"{env}: the backend's stack is not a state: {error}") from None
    deployment = content.get("deployment") if isinstance(content, dict) else None
    return deployment if isinstance(deployment, dict) else None


def _put(path: Path, deployment: dict[str, Any]) -> None:
    content = json.loads(path.read_text(encoding="utf-8"))
    content["checkpoint"]["latest"] = without_secrets(deployment)
    path.write_text(json.dumps(content), encoding="utf-8")
