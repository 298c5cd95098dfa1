"""Protocol between a machine and the join endpoint. Both sides use the module, which needs only the standard library.

    GET  /v1/challenge/<fingerprint>   -> {"challenge": "0123456789"}
    POST /v1/join                      -> 202, or the reason of a refusal
    GET  /v1/join/<fingerprint>        -> {"certificate": PEM}, 202 while undecided, or the reason of a refusal

``fingerprint`` is the SHA-256 of the machine's public key, hexadecimal. A machine sends all requests over one
connection, because a challenge is valid only at the server that made it. The posted document is JSON with ``request``
(PKCS#10, PEM), ``challenge`` and ``proof``. The fields of the proof depend on the cloud (:mod:`join_endpoint.aws`,
:mod:`join_endpoint.azure`).
"""

from __future__ import annotations

CHALLENGE = "/v1/challenge/"
JOIN = "/v1/join"

LARGEST = 64 * 1024
"""Largest size in bytes of a posted document. The largest proof is Azure's, with about 20 kB including the
certificates."""

STS_FORM = b"Action=GetCallerIdentity&Version=2011-06-15"

CLUSTER_HEADER = "x-longhaul-cluster"
KEY_HEADER = "x-longhaul-key"
CHALLENGE_HEADER = "x-longhaul-challenge"
"""Headers that an AWS machine signs in addition to the headers of STS: the cluster, the key and the challenge."""


def sts_url(region: str) -> str:
    """Return the URL of STS that verifies a signature for ``region`` (docs.aws.amazon.com, "AWS Security Token Service
    endpoints")."""
    return f"https://sts.{region}.amazonaws.com/"


def bound(*, cluster: str, fingerprint: str, challenge: str) -> dict[str, str]:
    """Return the headers that bind a signature to a cluster, a key and a challenge."""
    return {CLUSTER_HEADER: cluster, KEY_HEADER: fingerprint, CHALLENGE_HEADER: challenge}
