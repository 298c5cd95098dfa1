"""Certificates and public keys that this API server has, by their digests, and keys that its programs read only at
their start: those of service accounts (kubernetes 1.36, pkg/controlplane/apiserver/options/options.go and
cmd/kube-controller-manager/app/service_accounts.go)."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import api_leave
from node_config import Node

ACCOUNTS = "service-account.pem"
ROTATIONS = "rotations.json"
API = "kube-apiserver.service"
CONTROLLER_MANAGER = "kube-controller-manager.service"
COPIES = {API: Path("/run/longhaul-api"), CONTROLLER_MANAGER: Path("/run/longhaul-controller-manager")}
"""Folders into which units copy the keys of service accounts at their start: what is there is what they use."""
PUBLIC = re.compile(r"-----BEGIN (CERTIFICATE|PUBLIC KEY)-----(.+?)-----END \1-----", re.DOTALL)


@dataclass(frozen=True, kw_only=True)
class Held:
    """Credentials of an API server."""

    files: Mapping[str, tuple[str, ...]]
    """SHA-256 of every certificate and public key (DER), by file, in their order."""
    unused: tuple[str, ...]
    """Units that were started with other keys of service accounts than the file has."""
    rotations: Mapping[str, Any] = field(default_factory=dict)
    """Rotations that are not over, as the vault tells them."""
    error: str = ""
    """Reason why a unit was not started with the keys that the file has."""


def held(*, pki: Path) -> Held:
    """Return what this API server has and uses."""
    paths = sorted(path for path in pki.iterdir() if path.suffix in (".pem", ".crt"))
    return Held(
        files={path.name: digests(path.read_text()) for path in paths}, unused=_unused(pki), rotations=_rotations(pki)
    )


def digests(text: str) -> tuple[str, ...]:
    """Return the SHA-256 of every certificate and public key (PEM) in a text, hexadecimal."""
    return tuple(hashlib.sha256(b64decode(match[2])).hexdigest() for match in PUBLIC.finditer(text))


def take_over(node: Node, *, frontend: str, pki: Path) -> Held:
    """Have the programs that have other keys of service accounts than the file start with those. kube-apiserver leaves
    the load balancer at ``frontend`` first; where that is empty, there is no other server."""
    unused = _unused(pki)
    error = _restart_server(node, frontend=frontend, pki=pki) if API in unused else ""
    if CONTROLLER_MANAGER in unused and not error:
        error = _done("restart", CONTROLLER_MANAGER)
    found = held(pki=pki)
    return Held(files=found.files, unused=found.unused, rotations=found.rotations, error=error)


def _restart_server(node: Node, *, frontend: str, pki: Path) -> str:
    """Return why kube-apiserver was not started again; empty when it is ready."""
    if not frontend:
        return _done("restart", API)
    departure = api_leave.leave(node, frontend=frontend, pki=pki)
    if not departure.left:
        return departure.reason
    # Its start ends when it is ready. Should this program not come so far, the timer of the leave starts it. One that
    # served nobody was not stopped, and has to begin anew as well.
    if error := _done("restart", API):
        return error
    # The target that requires it went with it.
    return _done("stop", api_leave.RETURN) or _done("--no-block", "start", "longhaul-api.target")


def _done(*words: str) -> str:
    """Run systemctl; return why it failed."""
    done = subprocess.run(["systemctl", *words], check=False, capture_output=True, text=True)
    said = done.stderr.strip().splitlines() or [f"systemctl {' '.join(words)} ended with {done.returncode}"]
    return said[-1] if done.returncode else ""


def _unused(pki: Path) -> tuple[str, ...]:
    wanted = _content(pki / ACCOUNTS)
    return tuple(unit for unit, folder in COPIES.items() if _content(folder / ACCOUNTS) != wanted)


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def _rotations(pki: Path) -> dict[str, Any]:
    try:
        found = json.loads((pki / ROTATIONS).read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
