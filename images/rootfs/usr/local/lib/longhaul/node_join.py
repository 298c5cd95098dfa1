#!/usr/bin/env python3
"""End once this node has a certificate, or once the API servers would take its kubelet's request for one.

A cloud's machine gets its certificate here: it proves to the join service what it is (``node_attest.py``). A rack
host's kubelet asks for its own with a one-time token; but a kubelet that is refused waits longer each time, up to half
a minute, and a node may well be up before the control plane is, before the tunnel to it, or before its token counts. So
this asks first, and often, whether the token may make a certificate request.
"""

from __future__ import annotations

import json
import os
import random
import ssl
import sys
import time
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from node_attest import Paths

NODE = Path("/etc/longhaul/node.json")
JOIN = Path("/etc/longhaul/join.kubeconfig")
CERTIFICATE = Path("/var/lib/kubelet/pki/kubelet-client-current.pem")
"""The kubelet's link to its newest certificate."""

REVIEW = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
TIMEOUT_S = 3.0
FIRST_RETRY_S = 0.2
LAST_RETRY_S = 2.0
"""Mean pause after a long wait. Each is drawn anew, so that machines which start together do not ask together."""
LAST_PROOF_S = 15.0
"""The same for proofs: each is work for the join service and for the cloud, which hundreds of machines share."""
REFUSED_RETRY_S = 15.0
"""Mean pause after the join service has said no: it may take two minutes until it would say anything else."""


@dataclass(frozen=True, kw_only=True)
class Join:
    """/etc/longhaul/join.kubeconfig."""

    server: str
    authority: str
    """Path of the certificate that the server's is checked against."""
    token: str = field(repr=False)

    @classmethod
    def read(cls, path: Path = JOIN) -> Join:
        """Read the file; ``OSError``, ``ValueError``, ``KeyError`` or ``TypeError`` when it is not one."""
        raw = json.loads(path.read_text())
        cluster, user = raw["clusters"][0]["cluster"], raw["users"][0]["user"]
        return cls(server=cluster["server"], authority=cluster["certificate-authority"], token=user["token"])


def refusal(join: Join) -> str:
    """Why a certificate request would fail now; empty when it would be taken."""
    asked = {"group": "certificates.k8s.io", "resource": "certificatesigningrequests", "verb": "create"}
    body = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": asked},
    }
    request = urllib.request.Request(  # noqa: S310  (the API servers' one address)
        join.server + REVIEW,
        data=json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {join.token}", "Content-Type": "application/json"},
    )
    try:
        context = ssl.create_default_context(cafile=join.authority)
        opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context)
        )
        with opener.open(request, timeout=TIMEOUT_S) as response:
            answer: dict[str, Any] = json.load(response)
    except urllib.error.HTTPError as error:
        meaning = " (the token does not count yet, or no more)" if error.code == 401 else ""
        return f"{join.server} answers {error.code}{meaning}"
    except (OSError, ValueError) as error:
        return f"{join.server}: {error}"
    if answer.get("status", {}).get("allowed") is not True:
        return f"{join.server}: the token may not make certificate requests (yet)"
    return ""


def attested(node: dict[str, Any], *, paths: Paths) -> None:
    """Return once there is a good certificate, by proof. ``ValueError``, ``KeyError`` or ``TypeError`` when the files
    of this node do not say how."""
    from node_attest import JoinError, RefusedError, Settings, join, usable, write_kubeconfig
    from node_proofs import prover

    settings, prove, name = Settings(**node["join"]), prover(node["kind"]), os.environ["NODE_NAME"]
    # First, since kube-proxy begins as soon as there is a certificate.
    if not paths.kubeconfig.exists():
        write_kubeconfig(node["api"], paths=paths)
    said, pause = "", FIRST_RETRY_S
    while not usable(paths.current):
        try:
            join(name, settings, prove, paths=paths)
        except RefusedError as error:
            said = _not_yet(str(error), said)
            _wait(REFUSED_RETRY_S)
        except JoinError as error:
            said = _not_yet(str(error), said)
            _wait(pause)
            pause = min(pause * 2, LAST_PROOF_S)


def invited() -> None:
    """Return once the token may make a request, or there is a certificate."""
    said, pause = "", FIRST_RETRY_S
    while not CERTIFICATE.exists():
        try:
            reason = refusal(Join.read())
        except (OSError, ValueError, KeyError, TypeError) as error:
            reason = f"{JOIN}: {error!r}: this node needs a new one"
        if not reason:
            break
        said = _not_yet(reason, said)
        _wait(pause)
        pause = min(pause * 1.5, LAST_RETRY_S)


def _not_yet(reason: str, said: str) -> str:
    """Say why it does not go on, once; returns what was said last."""
    if reason != said:
        print(f"not yet: {reason}", file=sys.stderr, flush=True)
    return reason


def _wait(mean_s: float) -> None:
    time.sleep(random.uniform(0.5, 1.5) * mean_s)  # noqa: S311  (no secret)


def main() -> int:
    """0 once the kubelet can start."""
    try:
        node = json.loads(NODE.read_text())
        if "join" in node:
            # Rack hosts do without what it imports.
            from node_attest import Paths

            attested(node, paths=Paths())
        else:
            invited()
    except (OSError, ValueError, KeyError, TypeError) as error:
        print(f"{NODE}: {error!r}: this node needs new files, or another image", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
