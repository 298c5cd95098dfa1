"""The accountant as a unit on every API server's machine (longhaul-accountant.service). One of the units leads.

The leader compares what runs in each team's namespace with what the team's queue has admitted.
"""

from __future__ import annotations

import logging
import sys
import threading

from contract.kubernetes.api import Api
from contract.kubernetes.election import Candidate
from contract.object_names import ACCOUNTANT_LEASE
from contract.ports import ACCOUNTANT_PORT
from contract.users import ACCOUNTANT_ACCOUNT
from services.accountant.accountant import Accountant
from services.accountant.metrics import LEADER, METRICS, PODS_BEYOND_QUEUE, TEAM_HELD
from services.accountant.watched_teams import WatchedTeams
from services.metrics import ServiceMetrics
from services.process import service_process

log = logging.getLogger("accountant")


def work(api: Api, *, instance: str, stop: threading.Event, metrics: ServiceMetrics) -> None:
    """Lead whenever no other process does, until stopped."""
    candidate = Candidate(api, ACCOUNTANT_LEASE, identity=instance, tell=log.warning)
    while not stop.is_set():
        with candidate.leading(stop) as leads:
            if leads is None:
                return
            log.info("leading as %s", instance)
            metrics.set(LEADER, 1)
            Accountant(api, WatchedTeams(api), instance=instance, metrics=metrics, leads=leads).run(stop)
        metrics.set(LEADER, 0)
        for gauge in (PODS_BEYOND_QUEUE, TEAM_HELD):
            metrics.replace(gauge, {})


def main() -> int:
    """Run the unit and return its exit code."""
    with service_process(__doc__, port=ACCOUNTANT_PORT, metrics=METRICS) as process:
        machine = process.machine
        work(machine.api(ACCOUNTANT_ACCOUNT), instance=machine.name, stop=process.stop, metrics=process.metrics)
    return 0


if __name__ == "__main__":
    sys.exit(main())
