"""Metrics of this machine's own API server."""

from __future__ import annotations

import re
import ssl
import urllib.request
from pathlib import Path

from contract.documents.node import NodeConfig
from contract.paths import KUBERNETES_AUTHORITIES

TIMEOUT_S = 10.0


def loaded(node: NodeConfig, metric: str, *, pki: Path) -> str:
    """Return the label ``hash`` of a metric, which identifies the configuration that kube-apiserver uses; empty if
    there is no such metric. Raise ``OSError`` or ``HTTPException`` if the server does not answer. The client
    certificate is the one whose group may read metrics."""
    wanted = re.compile(rb"^" + metric.encode() + rb'\{.*hash="(sha256:[^"]+)"')
    context = ssl.create_default_context(cafile=str(pki / KUBERNETES_AUTHORITIES))
    context.load_cert_chain(pki / "kubelet-client.pem")
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context))
    with opener.open(f"https://127.0.0.1:{node.port}/metrics", timeout=TIMEOUT_S) as answer:
        matches = (wanted.match(line) for line in answer)
        return next((match[1].decode() for match in matches if match), "")
