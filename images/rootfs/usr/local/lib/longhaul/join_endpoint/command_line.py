"""A program that serves an endpoint until SIGTERM."""

from __future__ import annotations

import argparse
import logging
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from machine.config import PKI

from contract.documents.node import PATH as NODE
from contract.documents.node import NodeConfig
from join_endpoint.https_listener import Server


def run(about: str | None, made: Callable[[NodeConfig, Path, str], Server[Any]]) -> int:
    """Run the server that ``made`` returns until SIGTERM, and return the exit code. The arguments of ``made`` are the
    machine's description, the folder of its certificates and the listening address. ``about`` is the help text. Raise
    ``OSError`` if the port is in use or the certificate cannot be read."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--node", type=Path, default=NODE, help="what this machine is")
    parser.add_argument("--pki", type=Path, default=PKI, help="where its certificates are")
    parser.add_argument("--address", default="0.0.0.0", help="where it listens")  # noqa: S104  (security rules say who reaches it)
    arguments = parser.parse_args()
    # The format has no time, because the journal adds it.
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(levelname)s %(message)s")
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    server = made(NodeConfig.read(arguments.node), arguments.pki, arguments.address)
    server.context()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    stop.wait()
    server.shutdown()
    server.server_close()
    return 0
