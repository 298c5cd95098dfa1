#!/usr/bin/env python3
"""Join endpoint: runs on every API server machine, for cloud machines that have no certificate yet.

It identifies a machine by what its cloud has signed, and makes a certificate request in the machine's name. The node
controller decides on the request.
"""

from __future__ import annotations

import argparse
import logging
import signal
import socket
import sys
import threading
from pathlib import Path

from attest.aws import AwsProofs
from attest.azure import AzureProofs
from attest.join_endpoint import COMPONENT, JoinEndpoint
from attest.server import Server
from controller.api import Api
from controller.events import Events
from node_config import PATH as NODE
from node_config import PKI, Node
from quarantine_list import QuarantineList

EVERYWHERE = "0.0.0.0"  # noqa: S104  (security rules say who reaches it)


def serve(node: Node, *, pki: Path, address: str, stop: threading.Event) -> None:
    """Answer machines until stopped; ``OSError`` when the port is not free or the certificate cannot be read."""
    certificate = pki / "join.pem"
    api = Api(host="127.0.0.1", port=node.port, authority=pki / "kubernetes-ca.crt", certificate=certificate)
    endpoint = JoinEndpoint(
        api,
        verifiers={"aws": AwsProofs(), "azure": AzureProofs()},
        events=Events(api, instance=node.machine, component=COMPONENT),
        quarantined=QuarantineList(),
    )
    server = Server((address, node.join_port), endpoint, certificate=certificate, healthy=lambda: _there(node.port))
    server.context()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    stop.wait()
    server.shutdown()
    server.server_close()


def _there(port: int) -> bool:
    """Return whether this machine's API server accepts connections. Without it, this endpoint can help no machine;
    another one can."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1.0):
            return True
    except OSError:
        return False


def main() -> int:
    """Run the service and return its exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--node", type=Path, default=NODE, help="what this machine is")
    parser.add_argument("--pki", type=Path, default=PKI, help="where its certificates are")
    parser.add_argument("--address", default=EVERYWHERE, help="where it listens")
    arguments = parser.parse_args()
    # The format has no time, because the journal adds it.
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(levelname)s %(message)s")
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    serve(Node.read(arguments.node), pki=arguments.pki, address=arguments.address, stop=stop)
    return 0


if __name__ == "__main__":
    sys.exit(main())
