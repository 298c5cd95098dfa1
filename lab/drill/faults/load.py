"""Faults of load: more Events than the cluster is sized for, and a database at its quota."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from contract.ports import ETCD_CLIENT_PORT
from contract.units import ETCD
from lab.drill.drill import Drill
from lab.drill.environment import DrillEnvironment
from lab.drill.members import CLIENT, follower, member
from lab.state import LabError

RATE = 5000
"""Requested number of Events a second."""

ROOM = 8 << 20
"""Bytes by which the database may still grow."""
NOSPACE = 1
"""Number of the alarm (etcd 3.6, api/etcdserverpb, ``AlarmType``)."""
KEY = "/longhaul-drill/ballast"
DROP_IN = "/run/systemd/system/etcd.service.d/90-longhaul-drill.conf"

_SMALL_QUOTA = f"""
mkdir -p $(dirname {DROP_IN})
echo ETCD_QUOTA_BACKEND_BYTES=$1 > /run/longhaul-drill.env
printf '[Service]\\nEnvironmentFile=/run/longhaul-drill.env\\n' > {DROP_IN}
systemctl daemon-reload
systemctl restart {ETCD}
"""

_FILL = f"""
for _ in $(seq 300); do
  head -c 1000000 /dev/zero | tr '\\0' x | /usr/local/bin/etcdctl "$@" put {KEY} > /dev/null 2>&1 && continue
  /usr/local/bin/etcdctl "$@" alarm list | grep -q '"alarm":{NOSPACE}' && exit 0
done
echo "the quota is not reached" >&2; exit 1
"""

_NO_QUOTA = f"""
rm -f {DROP_IN} /run/longhaul-drill.env
systemctl daemon-reload
systemctl restart {ETCD}
/usr/local/bin/etcdctl "$@" del {KEY}
"""


@contextmanager
def quota_reached(environment: DrillEnvironment) -> Iterator[str]:
    """Reduce the quota of one member of the main etcd cluster, and fill the cluster to that quota; `up --reclaim` makes
    room."""
    machine = follower(environment, environment.machines("etcd"))
    client = (f"--endpoints=https://{environment.address(machine)}:{ETCD_CLIENT_PORT}", *CLIENT)
    quota = member(environment, machine).db_size + ROOM
    environment.output(machine, "sh", "-ec", _SMALL_QUOTA, "quota", str(quota))
    try:
        environment.output(machine, "sh", "-ec", _FILL, "fill", *client)
        yield machine
    finally:
        environment.longhaul("up", "--yes", "--only", "infrastructure", "--reclaim", "etcd")
        environment.output(machine, "sh", "-ec", _NO_QUOTA, "quota", *client)


@contextmanager
def events_storm(environment: DrillEnvironment) -> Iterator[str]:
    """Create Events as fast as the API accepts them, at most :data:`RATE` a second."""
    with TemporaryDirectory(prefix="longhaul-drill-") as folder:
        kubeconfig = Path(folder) / "kubeconfig"
        environment.write_kubeconfig(kubeconfig)
        words = [sys.executable, "-m", "lab.drill.storm", "--kubeconfig", str(kubeconfig), f"--rate={RATE}"]
        storm = subprocess.Popen(
            [str(environment.project.state.enter), *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        try:
            if next(iter(storm.stdout or ()), "").strip() != "ready":
                raise LabError(f"the storm ended with {storm.wait()}; see above")
            yield f"{RATE} Events a second are asked for"
            printed, _ = storm.communicate()
            report = json.loads(printed)
            environment.notes.append(_storm(report))
        finally:
            if storm.poll() is None:
                storm.kill()
                storm.wait()


def _storm(report: dict[str, Any]) -> str:
    answers = ", ".join(f"{count:,} of status {status}" for status, count in sorted(report["answers"].items()))
    return f"{report['made']:,} Events were made, {report['rate']:.0f} a second; answers: {answers}"


DRILLS: tuple[Drill, ...] = (
    Drill(
        name="quota-reached",
        summary="the main etcd cluster reaches its quota; `up --reclaim etcd`",
        goal_s=60.0,
        fault=quota_reached,
        says="alarm NOSPACE",
        reads_go_on=True,
    ),
    Drill(
        name="events-storm",
        summary=f"{RATE:,} Events a second are asked for through the API servers",
        goal_s=2.0,
        fault=events_storm,
        lasts_s=20.0,
    ),
)
