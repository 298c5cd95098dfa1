"""What a machine and the join service agree on. Standard library alone: both import it.

    GET  /v1/challenge/<fingerprint>   -> {"challenge": "0123456789"}
    POST /v1/join                      -> 202, or why not
    GET  /v1/join/<fingerprint>        -> {"certificate": PEM}, 202 while it is being decided, or why not

``fingerprint`` is the SHA-256 of the machine's public key, hexadecimal. All of it goes over one connection: a challenge
is good at the server that gave it. What is posted is JSON: ``request`` (PKCS#10, PEM), ``challenge`` and ``proof``, of
which each cloud's kind has its own (:mod:`attest.aws`, :mod:`attest.azure`).
"""

from __future__ import annotations

CHALLENGE = "/v1/challenge/"
JOIN = "/v1/join"
HEALTH = "/healthz"

LARGEST = 64 * 1024
"""Bytes of what is posted. The largest proof is Azure's, with its certificates about 20 kB."""

STS_FORM = b"Action=GetCallerIdentity&Version=2011-06-15"

CLUSTER_HEADER = "x-longhaul-cluster"
KEY_HEADER = "x-longhaul-key"
CHALLENGE_HEADER = "x-longhaul-challenge"
"""What an AWS machine signs besides what STS wants: for whom the proof is, for which key, and for which question."""


def sts_url(region: str) -> str:
    """Where a signature of ``region`` is checked (docs.aws.amazon.com, "AWS Security Token Service endpoints")."""
    return f"https://sts.{region}.amazonaws.com/"


def bound(*, cluster: str, fingerprint: str, challenge: str) -> dict[str, str]:
    """The headers that bind a signature to one question of one cluster about one key."""
    return {CLUSTER_HEADER: cluster, KEY_HEADER: fingerprint, CHALLENGE_HEADER: challenge}
