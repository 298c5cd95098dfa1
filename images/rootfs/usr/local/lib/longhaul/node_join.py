#!/usr/bin/env python3
"""End once the API servers would take this node's request for a certificate, or it has a certificate already.

A kubelet that is refused waits longer each time, up to half a minute. A node may well be up before the control plane
is, before the tunnel to it, or before its token counts, so this asks first, and often, whether the token may make a
certificate request.
"""

from __future__ import annotations

import json
import random
import ssl
import sys
import time
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

JOIN = Path("/etc/longhaul/join.kubeconfig")
CERTIFICATE = Path("/var/lib/kubelet/pki/kubelet-client-current.pem")
"""The kubelet's link to its newest certificate."""

REVIEW = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
TIMEOUT_S = 3.0
FIRST_RETRY_S = 0.2
LAST_RETRY_S = 2.0
"""Mean pause after a long wait. Each is drawn anew, so that machines which start together do not ask together."""


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


def main() -> int:
    """0 once the kubelet can start."""
    said, pause = "", FIRST_RETRY_S
    while not CERTIFICATE.exists():
        try:
            reason = refusal(Join.read())
        except (OSError, ValueError, KeyError, TypeError) as error:
            reason = f"{JOIN}: {error!r}: this node needs a new one"
        if not reason:
            break
        if reason != said:
            said = reason
            print(f"not yet: {said}", file=sys.stderr, flush=True)
        time.sleep(random.uniform(0.5, 1.5) * pause)  # noqa: S311  (no secret)
        pause = min(pause * 1.5, LAST_RETRY_S)
    return 0


if __name__ == "__main__":
    sys.exit(main())
