"""Restart the kubelet of a node whose Node object is gone from the API, so that it registers again.

A kubelet registers its Node once, when it starts, and afterwards only updates it (k8s.io/kubernetes v1.36,
``pkg/kubelet/kubelet_node_status.go``: ``registrationCompleted`` is never reset). Without its Node it renews no lease
either. So a deleted Node would stay away until the next restart.

The request uses the kubelet's own certificate; the Node authorizer lets it read its own Node, whether it exists or not.
Only a 404, twice, counts: silence and refusals are no reason to restart anything. The time in between is for somebody
who deletes a Node on purpose, because its machine is about to be ended or replaced.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import time
import urllib.error
from collections.abc import Callable

from node import checks as worker_checks

from contract.documents.node import Worker
from contract.units import KUBELET

GRACE_S = 120.0
"""Mean time in seconds from the first 404 to the second: Azure has begun to reimage a machine by then, and AWS to end
one."""
CACHED = "?resourceVersion=0"
"""Query that the API servers answer from memory (kubernetes.io, "API Concepts": any version)."""


def is_gone(paths: worker_checks.WorkerPaths, worker: Worker, name: str, *, query: str = "") -> bool:
    """Return whether the API reports that there is no Node ``name``; False when it does not answer."""
    try:
        worker_checks.read_node(paths, worker, name, query=query)
    except urllib.error.HTTPError as error:
        return error.code == 404
    except (OSError, ValueError) as error:
        print(f"not asked: {error}", file=sys.stderr)
    return False


def stays_gone(gone: Callable[[str], bool], *, grace_s: float, sleep: Callable[[float], None] = time.sleep) -> bool:
    """Return whether the Node is gone now, and still gone after about ``grace_s`` seconds. ``gone`` gets the query: the
    second look does not trust the servers' cache, which may lag."""
    if not gone(CACHED):
        return False
    # Nodes that were deleted together must not come back together.
    sleep(random.uniform(0.75, 1.25) * grace_s)  # noqa: S311  (no secret)
    return gone("")


def main() -> int:
    """Do one check, and return 0 unless the kubelet could not be restarted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--grace", type=float, default=GRACE_S, metavar="SECONDS", help="mean time between both looks")
    arguments = parser.parse_args()
    paths = worker_checks.WorkerPaths()
    name = worker_checks.name(paths)
    # A node without a place or a certificate has not joined: the kubelet's own start handles that.
    if not name or not paths.certificate.exists():
        return 0
    worker = Worker.read()
    if stays_gone(lambda query: is_gone(paths, worker, name, query=query), grace_s=arguments.grace):
        print(f"there is no Node {name}: the kubelet is restarted, and registers it again", file=sys.stderr)
        # A kubelet that somebody stopped stays stopped.
        return subprocess.run(["systemctl", "try-restart", "--no-block", KUBELET], check=False).returncode
    return 0
