"""Restart the kubelet if its Node no longer exists in the API. The kubelet then registers the Node again.

A kubelet registers its Node only at its start, and later updates the Node (k8s.io/kubernetes v1.36,
``pkg/kubelet/kubelet_node_status.go``: ``registrationCompleted`` is never reset). Without a Node the kubelet renews no
lease. So a deleted Node would be missing until the kubelet's next restart.

This program reads the Node with the kubelet's own certificate. The Node authorizer allows that even if the Node does
not exist. The program restarts the kubelet only after two answers with status 404. Silence and refusals do not count.
It waits between the two answers, because somebody may have deleted the Node on purpose and will soon end the machine.
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
"""Mean time in seconds from the first 404 to the second. By then Azure has begun to reimage a machine, or AWS to end
it."""
CACHED = "?resourceVersion=0"
"""Query that the API servers answer from memory (kubernetes.io, "API Concepts": any version)."""


def is_gone(paths: worker_checks.WorkerPaths, worker: Worker, name: str, *, query: str = "") -> bool:
    """Return whether the API reports that there is no Node ``name``. Return False if the API does not answer."""
    try:
        worker_checks.read_node(paths, worker, name, query=query)
    except urllib.error.HTTPError as error:
        return error.code == 404
    except (OSError, ValueError) as error:
        print(f"the API server cannot be asked: {error}", file=sys.stderr)
    return False


def stays_gone(gone: Callable[[str], bool], *, grace_s: float, sleep: Callable[[float], None] = time.sleep) -> bool:
    """Return whether the Node is missing now, and still missing after about ``grace_s`` seconds. ``gone`` takes a
    query. The first request may use the API servers' cache. The second may not, because the cache may lag."""
    if not gone(CACHED):
        return False
    # Nodes that were deleted together must not come back together.
    sleep(random.uniform(0.75, 1.25) * grace_s)  # noqa: S311  (no secret)
    return gone("")


def main() -> int:
    """Check once. Return 0 unless the kubelet could not be restarted."""
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
