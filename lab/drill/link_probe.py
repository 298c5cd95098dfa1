"""Probe of a path: ``python3 -c <this text> ADDRESS PORT``, run on a machine with Python alone.

The probe opens a TCP connection five times a second, and prints the moment of each accepted connection in seconds of
the monotonic clock. All machines of a lab share that clock. The probe ends with its input.
"""

from __future__ import annotations

import select
import socket
import sys
import time

INTERVAL_S = 0.2
"""Time between two attempts, seconds."""
ANSWER_S = 0.8
"""Time limit of one attempt, seconds: below a second, after which TCP itself would retry (RFC 6298)."""


def main(address: str, port: int) -> None:
    """Probe until the input ends."""
    while not select.select([sys.stdin], [], [], INTERVAL_S)[0]:
        try:
            with socket.create_connection((address, port), timeout=ANSWER_S):
                sys.stdout.write(f"{time.monotonic()}\n")
                sys.stdout.flush()
        except OSError:
            continue


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
