#!/usr/bin/env python3
"""Print Ansible's inventory of the environment in LONGHAUL_ENV (or PULUMI_STACK): gateways, nodes, and a group for each
site."""

import os
import sys
from pathlib import Path

OWN = Path(__file__).resolve().parents[1] / ".venv" / "bin" / "python"

try:
    from longhaul.racks.ansible_script import main
except ImportError:
    # Started by its first line with any Python on PATH: the checkout's own Python has the packages.
    if not OWN.exists() or Path(sys.prefix) == OWN.parents[1]:
        raise
    os.execv(OWN, [str(OWN), *sys.argv])  # noqa: S606 - no shell is wanted

sys.exit(main())
