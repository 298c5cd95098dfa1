#!/usr/bin/env python3
"""End once kube-apiserver is ready: it tells systemd that it has started before its own roles and its first informers
are there, and what starts then is refused."""

from __future__ import annotations

import sys
import time

import api_checks
from node_config import PKI, Node

RETRY_S = 0.5
"""Between questions; the unit's TimeoutStartSec= bounds them."""


def main() -> int:
    """0 once it is ready."""
    node = Node.read()
    said = ""
    while not (check := api_checks.server(node, pki=PKI)).ok:
        if check.detail != said:
            said = check.detail
            print(f"not yet: {said}", file=sys.stderr, flush=True)
        time.sleep(RETRY_S)
    return 0


if __name__ == "__main__":
    sys.exit(main())
