"""Write this machine's secrets from the vault into files.

/etc/longhaul/secrets.json lists the files: each file's ``content`` holds ``${secret}`` or ``${secret:field}`` (a field
of a secret whose value is JSON) in the place of the value. A file is replaced in one rename, and only when it changed.
When the vault cannot be reached, existing files stay. No value is ever logged.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from vault.client import AwayError, MachineVault, VaultError

CONFIG = Path("/etc/longhaul/secrets.json")

PLACEHOLDER = re.compile(r"\$\{([a-z0-9-]+)(?::([a-z]+))?\}")

RETRY_S = 1.0
"""Seconds between attempts at boot. Azure does not announce when a role assignment comes into force, which takes up to
ten minutes (learn.microsoft.com, "Troubleshoot Azure RBAC"), or when a missing secret is made. Secrets that were read
are not read again."""


@dataclass(frozen=True, kw_only=True)
class FetchedFile:
    """A file whose content contains secrets."""

    path: Path
    content: str
    mode: int
    user: str
    group: str

    def secrets(self) -> set[str]:
        """Return the names of the secrets in it."""
        return {match[1] for match in PLACEHOLDER.finditer(self.content)}


@dataclass(frozen=True, kw_only=True)
class Config:
    """Contents of /etc/longhaul/secrets.json."""

    vault: str
    metadata: str
    files: tuple[FetchedFile, ...]

    @classmethod
    def read(cls, path: Path) -> Config:
        """Read the configuration; raise ``OSError``, ``ValueError`` or ``KeyError`` when it is malformed."""
        raw = json.loads(path.read_text())
        return cls(vault=raw["vault"], metadata=raw["metadata"], files=tuple(_file(item) for item in raw["files"]))

    def open(self) -> MachineVault:
        """Return the vault that the configuration names."""
        return MachineVault(url=self.vault, metadata=self.metadata)


def _file(raw: dict[str, Any]) -> FetchedFile:
    user, group = raw["owner"].split(":")
    return FetchedFile(
        path=Path(raw["path"]),
        content=raw["content"],
        mode=int(raw["mode"], 8),
        user=user,
        group=group,
    )


def render(content: str, values: dict[str, str]) -> str:
    """Return ``content`` with every placeholder replaced; raise ``VaultError`` when a secret lacks the field."""

    def value(match: re.Match[str]) -> str:
        name, field = match[1], match[2]
        if field is None:
            return values[name]
        try:
            text = json.loads(values[name])[field]
        except (ValueError, KeyError, TypeError):
            raise VaultError(f"secret {name}: its value is not JSON with a field {field!r}") from None
        if not isinstance(text, str):
            raise VaultError(f"secret {name}: its field {field!r} is not text")
        return text

    return PLACEHOLDER.sub(value, content)


def write(file: FetchedFile, content: str) -> bool:
    """Replace the file in one step; return False when it already held ``content``. Owner and mode are set before the
    file gets its name."""
    if file.path.exists() and file.path.read_text() == content:
        return False
    file.path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=file.path.parent, prefix=f".{file.path.name}.")
    try:
        with os.fdopen(descriptor, "w") as stream:
            shutil.chown(name, file.user, file.group)
            os.fchmod(stream.fileno(), file.mode)
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(name, file.path)
    except BaseException:
        os.unlink(name)
        raise
    return True


def fetch(config: Config, read: Callable[[str], str]) -> tuple[list[FetchedFile], list[str]]:
    """Bring every file up to date as far as the vault allows. Return the files that changed, and the problems."""
    values: dict[str, str] = {}
    problems: list[str] = []
    for name in sorted(set[str]().union(*(file.secrets() for file in config.files))):
        try:
            values[name] = read(name)
        except AwayError as error:
            return [], [str(error)]
        except VaultError as error:
            problems.append(str(error))
    changed: list[FetchedFile] = []
    for file in config.files:
        if file.secrets() <= values.keys():
            try:
                if write(file, render(file.content, values)):
                    changed.append(file)
            except (VaultError, OSError, LookupError) as error:
                problems.append(f"{file.path}: {error}")
    return changed, problems


def main() -> int:
    """Return 0 when every file has the vault's content, or, at boot, when every file at least exists."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--config", type=Path, default=CONFIG)
    parser.add_argument("--boot-wait", type=float, default=0.0, metavar="SECONDS", help="how long files may be missing")
    arguments = parser.parse_args()
    config = Config.read(arguments.config)
    deadline = time.monotonic() + arguments.boot_wait
    reported: list[str] = []
    read = cache(config.open().read)
    while True:
        changed, problems = fetch(config, read)
        for file in changed:
            print(f"wrote {file.path}", flush=True)
        for problem in problems:
            if problem not in reported:
                print(problem, file=sys.stderr, flush=True)
        reported = problems
        missing = [str(file.path) for file in config.files if not file.path.exists()]
        if not problems:
            return 0
        if not missing and arguments.boot_wait:
            print("going on with the files from before; the timer will try again", file=sys.stderr)
            return 0
        if time.monotonic() + RETRY_S > deadline:
            print(f"missing: {', '.join(missing) or 'nothing, the files from before stay'}", file=sys.stderr)
            return 1
        time.sleep(RETRY_S)
