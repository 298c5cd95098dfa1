"""A person's kubeconfig. It contains no credential: kubectl runs a program when it needs a credential."""

from __future__ import annotations

import base64
import shutil
import sys
from pathlib import Path
from typing import Any

from longhaul.client.files import state_folder
from longhaul.client.profile import Profile, ProfileIssuer

KUBELOGIN = "kubectl-oidc_login"
"""File name by which kubectl finds kubelogin (github.com/int128/kubelogin, docs/usage.md)."""


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
    """Return the kubeconfig entry that runs our program. Python runs isolated, so that it imports nothing from
    kubectl's working directory."""
    words = ["-I", "-m", "longhaul.client", "--profile", str(profile)]
    words += ["--issuer", issuer] if issuer is not None else []
    return _exec(sys.executable, [*words, *(["--device"] if device else [])])


def kubelogin(issuer: ProfileIssuer, place: str, *, device: bool) -> dict[str, Any]:
    """Return the kubeconfig entry that runs kubelogin. Each place has its own token cache, because kubelogin finds
    cached tokens by their issuer."""
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
    """Return a kubeconfig's ``exec`` entry (kubernetes.io, "Authentication", "client-go credential plugins")."""
    return {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": command,
        "args": words,
        "interactiveMode": "IfAvailable",
        "provideClusterInfo": False,
    }


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
