"""Faults of a member's data disk: the disk stalls, is full, is wiped, or returns corrupted data."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from contract.paths import SSD
from contract.ports import ETCD_CLIENT_PORT
from contract.units import ETCD
from lab.drill.drill import Drill
from lab.drill.environment import DrillEnvironment
from lab.drill.members import CLIENT, answers, ask, await_effect, follower, leader

BALLAST = f"{SSD}/ballast"

REFUSAL_S = 120.0
"""Seconds that a member may take to end by itself and be restarted."""

MARK = "/longhaul-drill/mark"
"""Key outside the API servers' keys. The fault damages the database page with this key's value."""
WRITTEN, DAMAGED = "longhaul-drill-as-it-was-written", "longhaul-drill-as-it-was-damaged"

_FILL = f"""
free=$(df --block-size=1 --output=avail {SSD} | tail -n 1)
fallocate --length "$free" {BALLAST} || true
head -c 64M /dev/zero > {BALLAST}.rest || true
"""

_GROW = f"""
for _ in $(seq 20); do
  head -c 1000000 /dev/zero | tr '\\0' x | /usr/local/bin/etcdctl "$@" put {MARK} > /dev/null 2>&1 || true
done
/usr/local/bin/etcdctl "$@" del {MARK} > /dev/null
"""
"""Script that writes more than the space that members have reserved in their files."""

FLIP_LOG = f"""
import pathlib
log = sorted(pathlib.Path("{SSD}/etcd/member/wal").glob("*.wal"))[-1]
data = bytearray(log.read_bytes())
at = data.rindex(b"/registry/")
data[at] ^= 1
log.write_bytes(data)
"""
"""Script that flips one bit in a record of the newest log, so that the record contradicts all later records."""

DAMAGE_PAGES = f"""
import pathlib
database = pathlib.Path("{SSD}/etcd/member/snap/db")
data = database.read_bytes()
assert b"{WRITTEN}" in data
database.write_bytes(data.replace(b"{WRITTEN}", b"{DAMAGED}"))
"""


@contextmanager
def leader_stalled(environment: DrillEnvironment) -> Iterator[str]:
    """Stall the disk of the leader of the main etcd cluster."""
    machine = leader(environment, environment.machines("etcd"))
    with _stalled(environment, machine):
        yield machine


@contextmanager
def follower_stalled(environment: DrillEnvironment) -> Iterator[str]:
    """Stall the disk of a follower of the main etcd cluster."""
    machine = follower(environment, environment.machines("etcd"))
    with _stalled(environment, machine):
        yield machine


@contextmanager
def _stalled(environment: DrillEnvironment, machine: str) -> Iterator[None]:
    environment.output(machine, "fsfreeze", "--freeze", SSD)
    try:
        yield
    finally:
        environment.output(machine, "fsfreeze", "--unfreeze", SSD)


@contextmanager
def leader_full(environment: DrillEnvironment) -> Iterator[str]:
    """Fill the disk of the leader of the main etcd cluster; its machine is replaced."""
    members = environment.machines("etcd")
    machine = leader(environment, members)
    environment.output(machine, "sh", "-c", _FILL)
    try:
        other = next(name for name in members if name != machine)
        endpoint = f"--endpoints=https://{environment.address(other)}:{ETCD_CLIENT_PORT}"
        environment.output(other, "sh", "-c", _GROW, "grow", endpoint, *CLIENT)
        await_effect(lambda: not answers(environment, machine), what=f"{machine} cannot write")
        yield machine
    finally:
        environment.replace(machine)


@contextmanager
def follower_wiped(environment: DrillEnvironment) -> Iterator[str]:
    """Give the machine of a follower a blank disk, like a cloud that moved it to another host. `longhaul up` starts it,
    and it joins again."""
    machine = follower(environment, environment.machines("etcd"))
    environment.power(machine, "cut")
    try:
        await_effect(lambda: environment.phase(machine) == "stopped", what=f"{machine} is off")
        environment.wipe_disk(machine)
        yield machine
    finally:
        environment.longhaul("up", "--yes", "--only", "infrastructure")


@contextmanager
def log_corrupted(environment: DrillEnvironment) -> Iterator[str]:
    """Flip a bit in the log of a stopped follower of the main etcd cluster; its machine is replaced."""
    machine = follower(environment, environment.machines("etcd"))
    with _changed(environment, machine, lambda: environment.output(machine, "python3", "-c", FLIP_LOG)):
        yield machine


@contextmanager
def page_corrupted(environment: DrillEnvironment) -> Iterator[str]:
    """Change a value in the database of a stopped follower of the main etcd cluster; its machine is replaced."""
    members = environment.machines("etcd")
    machine = follower(environment, members)
    ask(environment, machine, "put", MARK, WRITTEN)
    try:
        with _changed(environment, machine, lambda: environment.output(machine, "python3", "-c", DAMAGE_PAGES)):
            yield machine
    finally:
        ask(environment, leader(environment, members), "del", MARK)


@contextmanager
def _changed(environment: DrillEnvironment, machine: str, change: Callable[[], object]) -> Iterator[None]:
    """Change a member's data on its disk while it is stopped, and replace its machine in the end."""
    environment.output(machine, "systemctl", "stop", ETCD)
    try:
        change()
        environment.output(machine, "systemctl", "start", "--no-block", ETCD)
        await_effect(lambda: _gave_up(environment, machine), what=f"{machine} refuses its data", within_s=REFUSAL_S)
        yield
    finally:
        environment.replace(machine)


def _gave_up(environment: DrillEnvironment, machine: str) -> bool:
    """Return whether the member ended by itself after its start."""
    shown = environment.output(machine, "systemctl", "show", "--property=NRestarts", "--value", ETCD)
    return int(shown) > 0 and not answers(environment, machine)


DRILLS: tuple[Drill, ...] = (
    Drill(
        name="follower-disk-stalled",
        summary="the data disk of a follower of the main etcd cluster stalls",
        goal_s=10.0,
        fault=follower_stalled,
        lasts_s=10.0,
    ),
    Drill(
        name="leader-disk-stalled",
        summary="the data disk of the leader of the main etcd cluster stalls",
        goal_s=10.0,
        fault=leader_stalled,
        lasts_s=10.0,
    ),
    Drill(
        name="disk-full",
        summary="the data disk of the leader of the main etcd cluster is full; `up --replace`",
        goal_s=10.0,
        fault=leader_full,
        lasts_s=5.0,
        says="the data disk is full",
        reads_go_on=True,
    ),
    Drill(
        name="disk-wiped",
        summary="a member of the main etcd cluster loses its machine and data disk; `up` starts it with a blank one",
        goal_s=5.0,
        fault=follower_wiped,
        says="its machine does not run",
    ),
    Drill(
        name="log-corrupted",
        summary="one bit of a member's log is flipped while it is stopped; `up --replace`",
        goal_s=5.0,
        fault=log_corrupted,
        says="it ended:",
    ),
    Drill(
        name="page-corrupted",
        summary="a page of a member's database is changed while it is stopped; `up --replace`",
        goal_s=5.0,
        fault=page_corrupted,
        says="found data inconsistency with peers",
    ),
)
