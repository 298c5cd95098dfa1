"""Issuers of the tokens with which people sign in, as this API server machine has them
(/etc/longhaul/authentication.yaml)."""

from __future__ import annotations

import hashlib
import http.client
from pathlib import Path

from machine.polling import poll_until

from contract.documents.issuers import PATH, digest_of, list_of_file, urls_of
from contract.documents.node import NodeConfig
from contract.documents.node_answers import ServerIssuers
from kube_apiserver.metrics import loaded

FILE = Path(PATH)
METRIC = "apiserver_authentication_config_controller_last_config_info"
"""Metric with the hash of the configuration that kube-apiserver uses (k8s.io/apiserver 0.36,
pkg/server/options/authenticationconfig/metrics)."""
RETRY_S = 1.0
"""Seconds between two checks. kube-apiserver reads the file when the file changes, and does not announce that."""


def issuers(node: NodeConfig, *, pki: Path, path: Path = FILE) -> ServerIssuers:
    """Return the issuers of this API server."""
    urls: tuple[str, ...] = ()
    digest = ""
    try:
        content = path.read_bytes()
        text = list_of_file(content.decode())
        urls, digest = urls_of(text), digest_of(text)
        used = loaded(node, METRIC, pki=pki)
    except (OSError, ValueError, KeyError, TypeError, http.client.HTTPException) as error:
        return ServerIssuers(
            urls=urls, digest=digest, loaded=False, error=f"the configuration that its server uses is unknown: {error}"
        )
    return ServerIssuers(urls=urls, digest=digest, loaded=used == f"sha256:{hashlib.sha256(content).hexdigest()}")


def await_issuers(node: NodeConfig, *, pki: Path, wait_s: float, path: Path = FILE) -> ServerIssuers:
    """Wait until kube-apiserver uses the issuers in the file, at most ``wait_s`` seconds, and return the issuers.
    kube-apiserver uses a new list only after every issuer in it has answered (k8s.io/kubernetes 1.36,
    pkg/kubeapiserver/authenticator/config.go)."""
    return poll_until(
        lambda: issuers(node, pki=pki, path=path), lambda answer: answer.loaded, wait_s=wait_s, pause_s=RETRY_S
    )
