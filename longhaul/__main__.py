"""``python -m longhaul``."""

from __future__ import annotations

import sys

from longhaul.cli import main

if __name__ == "__main__":
    sys.exit(main())
