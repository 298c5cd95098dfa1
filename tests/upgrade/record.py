"""Record a release: the states that it makes of the lab's environment, and the names that it gives.

From the checkout that is about to be tagged, with its lab up (``make lab``)::

    .venv/bin/python -m tests.upgrade.record

The version is the one in ``pyproject.toml``. The states are real, with three exceptions. Secrets are replaced by words
without content. Leaf certificates are issued anew, for :data:`LASTING_DAYS`, by an authority that is thrown away: a
preview years from now must not find them due. Source positions and times are left out.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from clouds.base.inputs import SECRET, SIGNATURE
from components.control_plane import issuing
from components.model import load
from lab import tools
from tests.support.hosts import stack_file
from tests.support.project import REPOSITORY
from tests.upgrade.names import declared, names
from tests.upgrade.releases import ACCEPTED, ENVIRONMENTS, FOLDER, LAB

PASSPHRASE = "lab"
"""Passphrase of every lab's state (``lab/operator.py``)."""
OPAQUE = re.compile(r"[A-Za-z0-9._+/=-]{32,}")
"""Matches a key among the texts of a secret: addresses and names of ciphers are shorter, and documents have spaces."""
LASTING_DAYS = 100 * 365.0
LEFT_OUT = ("created", "modified", "sourcePosition", "stackTrace")
EMPTY = """\
# What an upgrade from {version} may do to an environment, each with a reason: docs/releasing.md.
[]
"""


def main(argv: list[str] | None = None) -> int:
    """Return 0 when the release is recorded, 2 when it cannot be."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.upgrade.record", description=(__doc__ or "").split("\n\n")[0]
    )
    parser.add_argument("--backend", type=Path, default=REPOSITORY / ".lab" / "lab" / "pulumi", help="the lab's states")
    parser.add_argument("--anew", action="store_true", help="in the place of the record of this version")
    options = parser.parse_args(argv)
    version = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    folder = FOLDER / version
    if folder.exists() and not options.anew:
        print(f"{folder} exists: raise the version in pyproject.toml, or record it --anew", file=sys.stderr)
        return 2
    if not (options.backend / ".pulumi").is_dir():
        print(f"{options.backend} holds no states: `make lab` first, and `make lab-down` after this", file=sys.stderr)
        return 2
    exported = {stack: export(stack, backend=options.backend) for stack in LAB}
    states = {stack: lasting(state) for stack, state in scrubbed(exported).items()}
    known = {env: names(declared(load(stack_file(env)))) for env in ENVIRONMENTS}
    if folder.exists():
        shutil.rmtree(folder)
    (folder / "stacks").mkdir(parents=True)
    for pattern in ("Pulumi.{}.yaml", "Pulumi.{}-objects.yaml", "hosts.{}.yaml"):
        for env in ENVIRONMENTS:
            name = pattern.format(env)
            (folder / "stacks" / name).write_bytes(stack_file(env).with_name(name).read_bytes())
    for stack, state in states.items():
        text = json.dumps(state, indent=1, sort_keys=True)
        (folder / f"{stack}.json.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
    for env, lines in known.items():
        (folder / f"names.{env}.txt").write_text("".join(f"{name}\n" for name in lines), encoding="utf-8")
    (folder / ACCEPTED).write_text(EMPTY.format(version=version), encoding="utf-8")
    print(f"{folder}: states of {', '.join(states)}, names of {', '.join(known)}")
    return 0


def export(stack: str, *, backend: Path) -> dict[str, Any]:
    """Return a stack's state, decrypted."""
    found = tools.ensure(["pulumi"], log_dir=REPOSITORY / ".lab" / "log", progress=print)
    environ = {
        **{key: value for key, value in os.environ.items() if not key.startswith("PULUMI_")},
        "PULUMI_BACKEND_URL": f"file://{backend.resolve()}",
        "PULUMI_CONFIG_PASSPHRASE": PASSPHRASE,
        "PULUMI_SKIP_UPDATE_CHECK": "true",
    }
    words = [str(found["pulumi"]), "stack", "export", "--show-secrets", "--stack", f"organization/longhaul/{stack}"]
    done = subprocess.run(words, capture_output=True, text=True, check=True, env=environ, cwd=REPOSITORY)
    content: dict[str, Any] = json.loads(done.stdout)
    return content


def scrubbed(states: Mapping[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the states without secrets, times and source positions. One secret becomes the same word everywhere, so
    that nothing differs."""
    secrets = {text for state in states.values() for text in secrets_of(state) if OPAQUE.fullmatch(text)}
    words = {secret: f"recorded{number:024}" for number, secret in enumerate(sorted(secrets))}

    def clean(value: Any) -> Any:
        if isinstance(value, str):
            for secret, word in words.items():
                value = value.replace(secret, word)
        if isinstance(value, dict):
            return {key: clean(item) for key, item in value.items()}
        return [clean(item) for item in value] if isinstance(value, list) else value

    return {stack: _lean(clean(state)) for stack, state in states.items()}


def _lean(state: dict[str, Any]) -> dict[str, Any]:
    deployment = {key: value for key, value in state["deployment"].items() if key != "secrets_providers"}
    resources = [{key: value for key, value in one.items() if key not in LEFT_OUT} for one in deployment["resources"]]
    return {"version": state["version"], "deployment": {**deployment, "resources": resources}}


def secrets_of(value: Any) -> Iterator[str]:
    """Yield every text that the engine keeps secret."""
    if isinstance(value, dict):
        if value.get(SIGNATURE) == SECRET:
            yield from _texts(json.loads(value["plaintext"]))
        for item in value.values():
            yield from secrets_of(item)
    elif isinstance(value, list):
        for item in value:
            yield from secrets_of(item)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str) and value:
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item)


def lasting(state: dict[str, Any]) -> dict[str, Any]:
    """Return the state with leaf certificates that are not due."""
    authority = issuing.new_authority(common_name="recorded", days=LASTING_DAYS, key=issuing.new_key())
    for one in state["deployment"]["resources"]:
        if one["type"] != "pulumi-python:dynamic/longhaul:Certificate":
            continue
        subject = issuing.Subject(
            common_name=one["inputs"]["common_name"], usages=one["inputs"]["usages"], days=LASTING_DAYS
        )
        certificate = issuing.issue(subject, authority=authority).certificate
        one["outputs"] |= {"certificate": certificate, "not_after": issuing.expiry(certificate)}
    return state


if __name__ == "__main__":
    sys.exit(main())
