#!/usr/bin/env python3
"""Refuse people whose access was revoked, for OpenVPN (``tls-verify``; doc/man-sections/script-options.rst): it runs
this whenever a laptop shows its certificate, which it has verified by then. Without a list that can be read, everybody
is refused."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import refused_names

DEPTH = "0"
"""Depth of the laptop's own certificate in its chain."""
NAME = "X509_0_CN"


def is_let_in(depth: str, name: str, *, path: Path = refused_names.PEOPLE) -> bool:
    """Return whether a certificate of the chain may stay; ``name`` is the common name of the laptop's own."""
    if depth != DEPTH:
        return True
    try:
        return bool(name) and name not in refused_names.names(path)
    except (OSError, ValueError) as error:
        print(f"nobody is let in: {error}", file=sys.stderr)
        return False


if __name__ == "__main__":
    sys.exit(0 if is_let_in(sys.argv[1], os.environ.get(NAME, "")) else 1)
