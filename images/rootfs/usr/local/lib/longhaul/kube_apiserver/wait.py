"""Wait until kube-apiserver is ready. kube-apiserver reports its start to systemd before its own roles and first
informers exist, and refuses programs that start at that time."""

from __future__ import annotations

import sys
import time

from machine.config import PKI

from contract.documents.node import NodeConfig
from kube_apiserver import checks as api_checks

RETRY_S = 0.5
"""Seconds between two checks. The unit's TimeoutStartSec= limits the total wait."""


def main() -> int:
    """Return 0 once kube-apiserver is ready."""
    node = NodeConfig.read()
    reported = ""
    while not (check := api_checks.server(node, pki=PKI)).ok:
        if check.detail != reported:
            reported = check.detail
            print(f"not yet: {reported}", file=sys.stderr, flush=True)
        time.sleep(RETRY_S)
    return 0
