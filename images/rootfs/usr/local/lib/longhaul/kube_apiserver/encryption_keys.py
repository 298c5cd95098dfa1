"""Encryption keys that this API server uses, and encryption keys of the stored objects."""

from __future__ import annotations

import base64
import hashlib
import http.client
import re
from collections import Counter
from pathlib import Path

from etcd.client import Etcdctl
from machine.polling import poll_until

from contract.documents.node import NodeConfig
from contract.documents.node_answers import ObjectsByKey, ServerKeys
from kube_apiserver.metrics import loaded

FILE = "encryption.yaml"
NAME = re.compile(r'"name": "([^"]+)"')
METRIC = "apiserver_encryption_config_controller_last_config_info"
"""Metric with the hash of the configuration that kube-apiserver uses (k8s.io/apiserver 0.36,
pkg/server/options/encryptionconfig/metrics)."""
RETRY_S = 2.0
"""Seconds between two checks. kube-apiserver reads the file once a minute, and does not announce that."""

STORED = "/registry/secrets/"
"""Prefix of the keys under which kube-apiserver stores Secrets, the only encrypted objects
(components/model/secrets/encryption_keys.py, ENCRYPTED)."""
PREFIX = re.compile(rb"k8s:enc:secretbox:v1:([^:]+):")
"""Pattern of the beginning of an encrypted value, with the name of its encryption key (k8s.io/apiserver,
``secretboxTransformerPrefixV1``)."""
PAGE = 50
"""Largest number of values in one answer. A value has at most 1.5 MiB."""


def server_keys(node: NodeConfig, *, pki: Path) -> ServerKeys:
    """Return the encryption keys of this API server."""
    names: tuple[str, ...] = ()
    try:
        content = (pki / FILE).read_bytes()
        names = tuple(NAME.findall(content.decode()))
        used = loaded(node, METRIC, pki=pki)
    except (OSError, http.client.HTTPException) as error:
        return ServerKeys(keys=names, loaded=False, error=f"the configuration that its server uses is unknown: {error}")
    return ServerKeys(keys=names, loaded=used == f"sha256:{hashlib.sha256(content).hexdigest()}")


def await_held(node: NodeConfig, *, pki: Path, wanted: tuple[str, ...], wait_s: float) -> ServerKeys:
    """Wait until kube-apiserver uses the keys ``wanted``, at most ``wait_s`` seconds, and return its keys. If the file
    has other keys, return at once."""
    return poll_until(
        lambda: server_keys(node, pki=pki),
        lambda answer: answer.loaded or answer.keys != wanted,
        wait_s=wait_s,
        pause_s=RETRY_S,
    )


def count_objects(endpoint: str, etcdctl: Etcdctl) -> ObjectsByKey:
    """Count the stored objects by the encryption key with which they were written. Raise ``EtcdError`` if etcd does not
    answer."""
    objects: Counter[str] = Counter()
    end = STORED.removesuffix("/") + chr(ord("/") + 1)
    begin = STORED
    while True:
        answer = etcdctl.run(endpoint, "get", begin, end, f"--limit={PAGE}")
        pairs = answer.get("kvs") or []
        for pair in pairs:
            match = PREFIX.match(base64.b64decode(pair.get("value", "")))
            objects[match[1].decode() if match else ""] += 1
        if not answer.get("more"):
            return ObjectsByKey(objects=dict(objects))
        # No name has a character below those of the alphabet, "-" and ".".
        begin = base64.b64decode(pairs[-1]["key"]).decode() + "!"
