"""Reads kubeconfig files for the cluster and the identity, as client-go does (k8s.io/client-go, tools/clientcmd)."""

from __future__ import annotations

import base64
import binascii
import os
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from contract.kubernetes import connection

ANSWER_S = 60.0
Entry = Mapping[str, Any]
UNSUPPORTED = ("exec", "auth-provider", "username", "password", "as", "as-groups", "as-uid")
"""Methods to sign in that the lab's plugin lacks."""


class ConfigError(Exception):
    """Raised when there is no usable kubeconfig; the message says where and why."""


@dataclass(frozen=True, kw_only=True)
class NamespacedAccess(connection.ClusterAccess):
    """One cluster, one identity and its namespace."""

    namespace: str


def load_access(given: str, *, context: str = "", cluster: str = "", namespace: str = "") -> NamespacedAccess:
    """Return the cluster of ``given``: a path, the content itself, or empty for the ambient configuration.

    Raise :class:`ConfigError` when there is none.
    """
    config = _given(given) if given else _ambient()
    chosen = context or config.get("current-context", "")
    if not chosen:
        raise ConfigError("the kubeconfig names no current-context, and the provider no context")
    where = _entry(config, "contexts", chosen, "context")
    cluster_name = cluster or where.get("cluster", "")
    server = _entry(config, "clusters", cluster_name, "cluster")
    user = _entry(config, "users", where["user"], "user") if where.get("user") else {}
    url = urlsplit(str(server.get("server", "")))
    if url.scheme != "https" or not url.hostname or url.path.strip("/"):
        raise ConfigError(
            f"the server of cluster {cluster_name!r} is {server.get('server')!r}, not https://<host>:<port>"
        )
    if server.get("proxy-url"):
        raise ConfigError(f"cluster {cluster_name!r} has a proxy-url, which the lab's kubernetes plugin does not know")
    token = _token(user)
    return NamespacedAccess(
        host=url.hostname,
        port=url.port or 443,
        server_name=server.get("tls-server-name") or url.hostname,
        namespace=namespace or where.get("namespace") or "default",
        context=_tls(server, user),
        headers={"User-Agent": "pulumi-kubernetes (lab)", **({"Authorization": f"Bearer {token}"} if token else {})},
        timeout_s=ANSWER_S,
    )


def _ambient() -> dict[str, Any]:
    """Merge the files of ``KUBECONFIG``, or read ``~/.kube/config``; of several entries with one name, the first one
    counts."""
    tag_list = os.environ.get("KUBECONFIG", "")
    paths = [Path(path) for path in tag_list.split(os.pathsep) if path] or [Path.home() / ".kube" / "config"]
    configs = [_parsed(path.read_text(encoding="utf-8"), path=path) for path in paths if path.is_file()]
    if not configs:
        raise ConfigError(f"there is no kubeconfig: KUBECONFIG is {tag_list!r} and leads to no file")
    merged: dict[str, Any] = {}
    for config in configs:
        merged["current-context"] = merged.get("current-context") or config.get("current-context", "")
        for kind in ("clusters", "contexts", "users"):
            merged.setdefault(kind, []).extend(config.get(kind) or [])
    return merged


def _given(given: str) -> dict[str, Any]:
    path = Path(given).expanduser() if len(given) < 4096 and "\n" not in given else None
    if path is not None and path.is_file():
        return _parsed(path.read_text(encoding="utf-8"), path=path)
    return _parsed(given, path=None)


def _parsed(text: str, *, path: Path | None) -> dict[str, Any]:
    """Parse the document, and make its file names absolute. Relative names are relative to the kubeconfig."""
    import yaml

    named = str(path) if path else "the kubeconfig in the provider's configuration"
    try:
        config = yaml.safe_load(text)
    except yaml.YAMLError as problem:
        raise ConfigError(f"{named} is not YAML: {problem}") from None
    if not isinstance(config, dict):
        raise ConfigError(f"{named} is neither a kubeconfig nor the path of one")
    folder = path.parent if path else Path()
    for kind, key in (("clusters", "cluster"), ("users", "user")):
        for entry in config.get(kind) or []:
            inner = entry.get(key) or {}
            for name in ("certificate-authority", "client-certificate", "client-key", "tokenFile"):
                if inner.get(name):
                    inner[name] = str(folder / inner[name])
    return config


def _entry(config: Entry, kind: str, name: str, key: str) -> Entry:
    for entry in config.get(kind) or []:
        if entry.get("name") == name:
            return entry.get(key) or {}
    raise ConfigError(f"the kubeconfig has no entry {name!r} among its {kind}")


def _content(entry: Entry, name: str) -> bytes | None:
    """Return ``<name>-data``, which takes precedence, or the content of the file ``<name>``."""
    if data := entry.get(f"{name}-data"):
        try:
            return base64.b64decode(data, validate=True)
        except (binascii.Error, ValueError):
            raise ConfigError(f"{name}-data in the kubeconfig is not base64") from None
    if path := entry.get(name):
        try:
            return Path(path).read_bytes()
        except OSError as problem:
            raise ConfigError(f"{name} in the kubeconfig: {problem}") from None
    return None


def _tls(server: Entry, user: Entry) -> ssl.SSLContext:
    authority = _content(server, "certificate-authority")
    certificate, key = _content(user, "client-certificate"), _content(user, "client-key")
    try:
        context = ssl.create_default_context(cadata=authority.decode() if authority else None)
        if server.get("insecure-skip-tls-verify"):
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        if certificate and key:
            connection.load_chain(context, (certificate + b"\n" + key).decode("ascii"))
    except (ssl.SSLError, ValueError) as problem:
        raise ConfigError(f"a certificate in the kubeconfig cannot be used: {problem}") from None
    return context


def _token(user: Entry) -> str | None:
    for name in UNSUPPORTED:
        if user.get(name):
            raise ConfigError(
                f"the kubeconfig's user signs in by {name!r}, which the lab's kubernetes plugin does not know"
            )
    if user.get("tokenFile"):
        return Path(user["tokenFile"]).read_text(encoding="utf-8").strip()
    return user.get("token") or None
