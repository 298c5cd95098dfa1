"""Program of longhaul-node-controller.service on every API server's machine. One of these node controllers leads.

The leader approves the certificate requests of kubelets whose machines exist, and removes Nodes whose machines no
longer exist. The clouds and the list of hosts show which machines exist. A ConfigMap contains the sites, pools and
hosts.
"""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Callable

from contract.documents.node_controller import NodeEnvironment
from contract.kubernetes.election import Candidate
from contract.object_names import NODE_CONTROLLER_LEASE
from contract.ports import NODE_CONTROLLER_PORT
from contract.users import NODE_CONTROLLER_ACCOUNT
from services.cloud_access import sign_in
from services.machine import ServiceMachine
from services.metrics import ServiceMetrics
from services.node_controller.controller import Controller, end
from services.node_controller.inventory import Inventory
from services.node_controller.metrics import METRICS
from services.node_controller.sources import inventories
from services.process import service_process

log = logging.getLogger("node_controller")

LOOK_S = 1.0
"""Seconds between two checks that this process still leads."""


def work(
    machine: ServiceMachine, *, stop: threading.Event, metrics: ServiceMetrics, fail: Callable[[], None] = end
) -> None:
    """Lead when elected, until ``stop`` is set. If leadership is lost, call ``fail``, which ends the process at
    once."""

    def build(
        environment: NodeEnvironment, *, changed: Callable[[], None], stop: threading.Event
    ) -> dict[str, Inventory]:
        sites = [site for name, site in environment.sites.items() if environment.pools_of(name)]
        sign_in(sites, machine=machine.name, role=environment.aws_role, stop=stop)
        return inventories(environment, changed=changed)

    api = machine.api(NODE_CONTROLLER_ACCOUNT)
    candidate = Candidate(api, NODE_CONTROLLER_LEASE, identity=machine.name, tell=log.warning)
    with candidate.leading(stop) as leads:
        if leads is None:
            return
        log.info("leading as %s", machine.name)
        controller = Controller(api, instance=machine.name, metrics=metrics, build=build)
        controller.start()
        while leads() and not stop.wait(LOOK_S):
            pass
        controller.stop()
        if not leads():
            log.error("no longer leading: another process leads, or the API servers do not answer")
            fail()


def main() -> int:
    """Run the unit and return its exit code."""
    with service_process(__doc__, port=NODE_CONTROLLER_PORT, metrics=METRICS) as process:
        work(process.machine, stop=process.stop, metrics=process.metrics)
    return 0


if __name__ == "__main__":
    sys.exit(main())
