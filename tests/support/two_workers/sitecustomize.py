"""Start of a Python process on whose path this folder is: Pulumi's dynamic provider gets two workers instead of four,
and says so in the file that TWO_WORKERS names."""

from __future__ import annotations

import os
import sys
from concurrent import futures
from pathlib import Path

if "pulumi.dynamic" in sys.orig_argv:

    class _TwoWorkers(futures.ThreadPoolExecutor):
        def __init__(self, max_workers: int | None = None) -> None:
            if max_workers != 4:
                raise RuntimeError(f"pulumi.dynamic asks for {max_workers} workers, and is known here to ask for four")
            Path(os.environ["TWO_WORKERS"]).write_text("2", encoding="utf-8")
            super().__init__(max_workers=2)

    futures.ThreadPoolExecutor = _TwoWorkers  # type: ignore[misc]
