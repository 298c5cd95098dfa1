#!/usr/bin/env python3
"""Node controller: runs on every API server machine; one of them is active.

It approves kubelets' certificate requests when their machine exists, and removes the Node of a machine that is gone.
The clouds and the list of hosts say which machines exist; a ConfigMap says which sites, pools and hosts there are.
"""

from __future__ import annotations

import argparse
import logging
import signal
import sys
import threading
from dataclasses import replace
from pathlib import Path

from controller.api import Api
from controller.election import TIMEOUT_S, Election
from controller.metrics import Metrics, serve
from controller.run import Controller
from node_config import PATH as NODE
from node_config import PKI, NodeConfig

from contract.paths import KUBERNETES_AUTHORITIES

log = logging.getLogger("node_controller")


def work(node: NodeConfig, *, pki: Path, stop: threading.Event, metrics: Metrics) -> int:
    """Lead when elected, until stopped. Return 1 when leadership was lost; the process must then end with all that runs
    in it."""
    api = Api(
        host="127.0.0.1",
        port=node.port,
        authority=pki / KUBERNETES_AUTHORITIES,
        certificate=pki / "node-controller.pem",
    )
    election = Election(replace(api, timeout_s=TIMEOUT_S), identity=node.machine)
    if not election.acquire(stop):
        return 0
    controller = Controller(api, instance=node.machine, metrics=metrics)
    controller.start()
    election.hold(stop)
    controller.stop()
    if stop.is_set():
        election.release()
        return 0
    return 1


def main() -> int:
    """Run the service and return its exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--node", type=Path, default=NODE, help="what this machine is")
    parser.add_argument("--pki", type=Path, default=PKI, help="where its certificates are")
    arguments = parser.parse_args()
    # The format has no time, because the journal adds it.
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(levelname)s %(message)s")
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    metrics = Metrics()
    serve(metrics)
    return work(NodeConfig.read(arguments.node), pki=arguments.pki, stop=stop, metrics=metrics)


if __name__ == "__main__":
    sys.exit(main())
