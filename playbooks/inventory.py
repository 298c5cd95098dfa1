#!/usr/bin/env python3
"""Ansible's inventory of the environment that LONGHAUL_ENV (or PULUMI_STACK) names: gateways, nodes, a group a site."""

import os
import sys
from pathlib import Path

OWN = Path(__file__).resolve().parents[1] / ".venv" / "bin" / "python"

try:
    from longhaul.racks.script import main
except ImportError:
    # Started by its first line with whatever Python PATH has: the checkout's own knows the environment.
    if not OWN.exists() or Path(sys.prefix) == OWN.parents[1]:
        raise
    os.execv(OWN, [str(OWN), *sys.argv])  # noqa: S606 - no shell is wanted

sys.exit(main())
