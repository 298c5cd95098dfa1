#!/usr/bin/env python3
"""Wait until kube-apiserver is ready. It tells systemd that it has started before its own roles and first informers
exist, and programs that start then are refused."""

from __future__ import annotations

import sys
import time

import api_checks
from node_config import PKI, NodeConfig

RETRY_S = 0.5
"""Seconds between two checks; the unit's TimeoutStartSec= limits the total wait."""


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


if __name__ == "__main__":
    sys.exit(main())
