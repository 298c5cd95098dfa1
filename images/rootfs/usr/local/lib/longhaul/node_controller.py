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
from pathlib import Path

from controller.metrics import Metrics, serve
from controller.run import Controller, end
from machine.config import PKI

from contract.documents.node import PATH as NODE
from contract.documents.node import NodeConfig
from contract.kubernetes.election import Candidate
from contract.kubernetes.machine import MachineApi
from contract.objects import NODE_CONTROLLER_LEASE
from contract.paths import KUBERNETES_AUTHORITIES

LOOK_S = 1.0
"""Time between two looks at whether this process still leads, seconds."""

log = logging.getLogger("node_controller")


def work(node: NodeConfig, *, pki: Path, stop: threading.Event, metrics: Metrics) -> int:
    """Lead when elected, until stopped. When leadership is lost, the process ends at once with all that runs in it."""
    api = MachineApi(
        f"https://127.0.0.1:{node.port}",
        authority=pki / KUBERNETES_AUTHORITIES,
        certificate=pki / "node-controller.pem",
        agent="longhaul-node-controller",
    )
    candidate = Candidate(api, NODE_CONTROLLER_LEASE, identity=node.machine, tell=log.warning)
    with candidate.leading(stop) as leads:
        if leads is None:
            return 0
        log.info("leading as %s", node.machine)
        controller = Controller(api, instance=node.machine, metrics=metrics)
        controller.start()
        while leads() and not stop.wait(LOOK_S):
            pass
        controller.stop()
        if not leads():
            log.error("leading no longer: another one does, or the API servers do not answer")
            end()
    return 0


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
