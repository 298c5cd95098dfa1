"""Kubeconfig of a person, which has no credential: kubectl runs a program for one, when it needs one."""

from __future__ import annotations

import base64
import shutil
import sys
from pathlib import Path
from typing import Any

from longhaul.client.files import state_folder
from longhaul.client.profile import Profile, ProfileIssuer

KUBELOGIN = "kubectl-oidc_login"
"""Program by which kubectl knows kubelogin (github.com/int128/kubelogin, docs/usage.md)."""


def kubeconfig(profile: Profile, user: dict[str, Any]) -> dict[str, Any]:
    """Return a kubeconfig with this user."""
    cluster = {"server": profile.server, "certificate-authority-data": _base64(profile.authority)}
    if profile.server_name:
        cluster["tls-server-name"] = profile.server_name
    name = profile.name
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": cluster}],
        "users": [{"name": f"{name}-signed-in", "user": {"exec": user}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": f"{name}-signed-in"}}],
        "current-context": name,
    }


def own_plugin(profile: Path, *, issuer: str | None, device: bool) -> dict[str, Any]:
    """Return the program of ours as a kubeconfig has it. Python is isolated: what is in the folder from which kubectl
    is run must not be imported."""
    words = ["-I", "-m", "longhaul.client", "--profile", str(profile)]
    words += ["--issuer", issuer] if issuer is not None else []
    return _exec(sys.executable, [*words, *(["--device"] if device else [])])


def kubelogin(issuer: ProfileIssuer, place: str, *, device: bool) -> dict[str, Any]:
    """Return kubelogin as a kubeconfig has it, with a cache for the place alone: it knows tokens by their issuer."""
    words = ["oidc-login", "get-token", f"--oidc-issuer-url={issuer.url}", f"--oidc-client-id={issuer.client_id}"]
    words += [f"--oidc-extra-scope={scope}" for scope in issuer.scopes if scope != "openid"]
    words += ["--oidc-pkce-method=S256", f"--token-cache-dir={state_folder('kubelogin') / place}"]
    if issuer.certificate_authority:
        words.append(f"--certificate-authority-data={_base64(issuer.certificate_authority)}")
    return _exec("kubectl", [*words, *(["--grant-type=device-code"] if device else [])])


def has_kubelogin() -> bool:
    """Return whether kubectl would find kubelogin."""
    return shutil.which(KUBELOGIN) is not None and shutil.which("kubectl") is not None


def _exec(command: str, words: list[str]) -> dict[str, Any]:
    """Return an entry of kubernetes.io, "Authentication", "client-go credential plugins"."""
    return {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": command,
        "args": words,
        "interactiveMode": "IfAvailable",
        "provideClusterInfo": False,
    }


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
