"""Wait until this node has a certificate, or until the API servers would accept its kubelet's request for one.

A cloud machine gets its certificate from this program, which proves the machine's identity to the join endpoint
(``node/attest.py``). A host's kubelet itself requests its certificate with a one-time token. A refused kubelet waits
longer each time, up to half a minute, and a host may be up before the control plane, before the tunnel to it, or before
its token is valid. So this program checks, at short intervals, whether the token may make a certificate request.
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
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contract.documents import join_kubeconfig
from contract.documents.join_kubeconfig import JoinKubeconfig
from contract.documents.node import PATH as NODE
from contract.documents.node import JoinSettings, Worker
from contract.kubernetes.paths import ACCESS_REVIEWS

if TYPE_CHECKING:
    from node.attest import JoinPaths

JOIN = Path(join_kubeconfig.PATH)
CERTIFICATE = Path("/var/lib/kubelet/pki/kubelet-client-current.pem")
"""Path of the kubelet's link to its newest certificate."""

CONSOLE = Path("/dev/console")
"""The machine's console, which clouds show. The journal of a machine that has not joined can be read only on the
machine."""

TIMEOUT_S = 3.0
FIRST_RETRY_S = 0.2
LAST_RETRY_S = 2.0
"""Longest mean pause in seconds between checks of the token. Each pause is random, so that machines that start together
do not ask together."""
LAST_PROOF_S = 15.0
"""Longest mean pause in seconds between proofs. A proof is work for the join endpoint and for the cloud, which hundreds
of machines share."""
REFUSED_RETRY_S = 15.0
"""Mean pause in seconds after a refusal by the join endpoint, whose answer may stay the same for two minutes."""


def refusal(join: JoinKubeconfig) -> str:
    """Return the reason why a certificate request would fail now; empty if it would be accepted."""
    asked = {"group": "certificates.k8s.io", "resource": "certificatesigningrequests", "verb": "create"}
    body = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": asked},
    }
    request = urllib.request.Request(  # noqa: S310  (the API servers' one address)
        join.server + ACCESS_REVIEWS,
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


def attested(node: Worker, settings: JoinSettings, *, paths: JoinPaths) -> None:
    """Get a certificate by proofs, and return once there is a valid one. Raise ``ValueError``, ``KeyError`` or
    ``TypeError`` if settings for that are missing."""
    from node.attest import JoinError, JoinRefusedError, join, usable, write_kubeconfig
    from node.proofs import prover

    prove, name = prover(node.kind), os.environ["NODE_NAME"]
    # Written first, because kube-proxy begins as soon as there is a certificate.
    if not paths.kubeconfig.exists():
        write_kubeconfig(node.api, paths=paths)
    reported, pause = "", FIRST_RETRY_S
    while not usable(paths.current):
        try:
            join(name, settings, prove, paths=paths)
        except JoinRefusedError as error:
            reported = _not_yet(str(error), reported)
            _wait(REFUSED_RETRY_S)
        except JoinError as error:
            reported = _not_yet(str(error), reported)
            _wait(pause)
            pause = min(pause * 2, LAST_PROOF_S)


def invited() -> None:
    """Wait until the token may make a certificate request, or there is a certificate."""
    reported, pause = "", FIRST_RETRY_S
    while not CERTIFICATE.exists():
        try:
            reason = refusal(join_kubeconfig.of_text(JOIN.read_text()))
        except (OSError, ValueError, KeyError, TypeError) as error:
            reason = f"{JOIN}: {error!r}: this node needs a new one"
        if not reason:
            break
        reported = _not_yet(reason, reported)
        _wait(pause)
        pause = min(pause * 1.5, LAST_RETRY_S)


def _not_yet(reason: str, reported: str) -> str:
    """Print the reason why the node still waits, unless it was printed last. Return the reason."""
    if reason != reported:
        print(f"not yet: {reason}", file=sys.stderr, flush=True)
        with suppress(OSError):
            CONSOLE.write_text(f"longhaul: this machine has not joined yet: {reason}\n")
    return reason


def _wait(mean_s: float) -> None:
    time.sleep(random.uniform(0.5, 1.5) * mean_s)  # noqa: S311  (no secret)


def main() -> int:
    """Return 0 once the kubelet can start."""
    try:
        node = Worker.read(NODE)
        if node.join is not None:
            # Hosts do not need the packages that this imports.
            from node.attest import JoinPaths

            attested(node, node.join, paths=JoinPaths())
        else:
            invited()
    except (OSError, ValueError, KeyError, TypeError) as error:
        print(f"{NODE}: {error!r}: this node needs new files, or another image", file=sys.stderr)
        return 1
    return 0
