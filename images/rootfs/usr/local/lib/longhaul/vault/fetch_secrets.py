"""Write this machine's secrets from the vault into files.

/etc/longhaul/secrets.json lists the files (contract/documents/secret_files.py). A file is replaced by one rename, and
only if its content changes. If the vault cannot be reached, existing files stay. Values are never logged.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from contract.documents.secret_files import PATH, SecretFile, SecretFiles, of_text
from vault.client import AwayError, MachineVault, VaultError

CONFIG = Path(PATH)

RETRY_S = 1.0
"""Seconds between attempts at boot. No signal shows that a role assignment has come into force, which takes up to ten
minutes (learn.microsoft.com, "Troubleshoot Azure RBAC"), or that a missing secret has been made. Secrets that were read
are not read again."""


def read(path: Path = CONFIG) -> SecretFiles:
    """Read the document. Raise ``OSError``, ``KeyError``, ``TypeError`` or ``ValueError`` if it is missing or
    malformed."""
    return of_text(path.read_text())


def open_vault(path: Path = CONFIG) -> MachineVault:
    """Return the vault that the document names."""
    files = read(path)
    return MachineVault(url=files.vault, metadata=files.metadata)


def write(file: SecretFile, content: str) -> bool:
    """Replace the file in one step. Return False if the file already has ``content``. Owner and mode are set before the
    new file gets its name."""
    path = Path(file.path)
    if path.exists() and path.read_text() == content:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "w") as stream:
            shutil.chown(name, file.user, file.group or file.user)
            os.fchmod(stream.fileno(), file.mode)
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
    return True


def fetch(files: Sequence[SecretFile], read: Callable[[str], str]) -> tuple[list[SecretFile], list[str]]:
    """Bring every file up to date whose secrets the vault returns. Return the changed files, and the problems."""
    values: dict[str, str] = {}
    problems: list[str] = []
    for name in sorted(frozenset[str]().union(*(file.secrets for file in files))):
        try:
            values[name] = read(name)
        except AwayError as error:
            return [], [str(error)]
        except VaultError as error:
            problems.append(str(error))
    changed: list[SecretFile] = []
    for file in files:
        if file.secrets <= values.keys():
            try:
                if write(file, file.filled(values)):
                    changed.append(file)
            except (OSError, LookupError, ValueError) as error:
                problems.append(f"{file.path}: {error}")
    return changed, problems


def main() -> int:
    """Return 0 if every file has the vault's content, or with ``--boot-wait`` if every file exists; otherwise 1."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--config", type=Path, default=CONFIG)
    parser.add_argument("--boot-wait", type=float, default=0.0, metavar="SECONDS", help="how long files may be missing")
    arguments = parser.parse_args()
    files = read(arguments.config).files
    deadline = time.monotonic() + arguments.boot_wait
    reported: list[str] = []
    ask = cache(open_vault(arguments.config).read)
    while True:
        changed, problems = fetch(files, ask)
        for file in changed:
            print(f"wrote {file.path}", flush=True)
        for problem in problems:
            if problem not in reported:
                print(problem, file=sys.stderr, flush=True)
        reported = problems
        missing = [file.path for file in files if not Path(file.path).exists()]
        if not problems:
            return 0
        if not missing and arguments.boot_wait:
            print("the earlier files stay in use; the timer tries again", file=sys.stderr)
            return 0
        if time.monotonic() + RETRY_S > deadline:
            print(f"missing: {', '.join(missing) or 'nothing, the earlier files stay in use'}", file=sys.stderr)
            return 1
        time.sleep(RETRY_S)
