"""Environments beside another in that one's lab: one world, one subscription, one account, one internet.

The first environment's lab holds the clouds, the machines and the process that all of it ends with. One that comes
while it runs is its guest: it has a state folder, an operator's place and a loopback port of its own, and nothing else
of its own but what it orders of the same clouds. Its folder's ``config.json`` names the lab it is in.
"""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path
from typing import Any

from lab.config import LabConfig
from lab.state import InitRecord, LabError, LabState, init_record, read_json, running_init


def host_of(state: LabState) -> LabState:
    """The lab that an environment is in: another's, or its own."""
    beside = (read_json(state.config_file) or {}).get("beside", "")
    return LabState(root=state.root, env=str(beside)) if beside else state


def guests_of(state: LabState) -> tuple[LabState, ...]:
    """The environments that are in the lab ``state`` besides its own, by name."""
    found = (LabState(root=state.root, env=path.parent.name) for path in sorted(state.root.glob("*/config.json")))
    return tuple(one for one in found if one != state and host_of(one) == state)


def lab_to_join(state: LabState) -> str:
    """The environment in whose lab ``state`` is, or would be now; empty for a lab of its own. One that was made
    keeps to its clouds, whether they run or not."""
    if state.config_file.exists():
        return LabConfig.read(state).beside
    others = (LabState(root=state.root, env=path.parent.name) for path in sorted(state.root.glob("*/lab.json")))
    running = (other for other in others if other != state and running_init(other) is not None)
    return next((other.env for other in running if host_of(other) == other), "")


def check_fits(config: LabConfig, host: LabConfig, *, env: str) -> None:
    """Raise :class:`LabError` for a guest that the lab it would be in cannot carry, with everything that is missing."""
    whole = f"`make lab-down ENV={config.beside}` first, then `make lab ENV={env}` alone"
    wrong = []
    if missing := sorted(set(config.regions) - set(host.regions)):
        wrong.append(f"its clouds have no region {', '.join(missing)}")
    if missing := sorted(set(config.images) - set(host.images)):
        wrong.append(f"its clouds have no image {', '.join(missing)}")
    parts = ("rootfs", "gateway_rootfs", "depot")
    if other := [part for part in parts if getattr(config, part) != getattr(host, part)]:
        wrong.append(f"it was started with another {', '.join(other)}")
    if wrong:
        raise LabError(f"{env} cannot be beside {config.beside} in its lab: {'; '.join(wrong)}. For its own: {whole}")


def check_apart(config: LabConfig, others: dict[str, LabConfig], *, env: str) -> None:
    """Raise :class:`LabError` where a guest is in the way of one of the ``others`` in the lab, by environment."""
    plan = config.plan()
    for name, other in others.items():
        theirs = other.plan()
        if plan.supernet.overlaps(theirs.supernet):
            raise LabError(f"{env} has {plan.supernet}, which overlaps {name}'s {theirs.supernet}: choose another")
        if plan.public == theirs.public:
            raise LabError(
                f"the operators of {env} and {name} are both at {plan.public}: give access.operators of {config.stack} "
                f"another address of {PLACES}"
            )


PLACES = "198.51.100.2 to 198.51.100.9"
"""Where the lab's operators can be on its internet."""


def configs(states: tuple[LabState, ...]) -> dict[str, LabConfig]:
    """What environments were started with, by name; one whose folder goes away at this moment is left out."""
    found = {}
    for state in states:
        if Path(state.config_file).exists():
            found[state.env] = LabConfig.read(state)
    return found


def take_in(state: LabState, config: LabConfig, host: InitRecord) -> InitRecord:
    """Write that ``state`` is in the lab of process 1 ``host``; returns its own record."""
    state.create()
    config.write(state)
    return renew(state, host, port=config.port)


def renew(state: LabState, host: InitRecord, *, port: int) -> InitRecord:
    """Write that a guest lives and ends with ``host``, which may be another since its lab was last started."""
    record = InitRecord(pid=host.pid, started=host.started, boot_id=host.boot_id, port=port)
    record.write(state)
    return record


def host_record(config: LabConfig, state: LabState) -> tuple[LabState, InitRecord]:
    """The lab that a guest is to be in; raises :class:`LabError` when it does not run."""
    host = LabState(root=state.root, env=config.beside)
    record = init_record(host)
    if record is None or not record.alive():
        raise LabError(f"the lab of {host.env}, in which {state.env} is, does not run: make lab ENV={host.env}")
    return host, record


def part_of(report: Mapping[str, Any], supernet: IPv4Network) -> dict[str, Any]:
    """Of what the daemon reports of a lab, the part of the environment whose whole private range is ``supernet``: the
    ranges of two in a lab are disjoint. Left out are what is in no network any more, as a machine that is being
    removed, and a load balancer as long as it has no backend."""
    networks = [one for one in report["networks"] if IPv4Network(one["ranges"][0]).subnet_of(supernet)]
    ids = {one["id"] for one in networks}
    gateways = [one for one in report["gateways"] if one["network"] in ids]
    names = {one["name"] for one in gateways}
    return {
        **report,
        "networks": networks,
        "machines": [one for one in report["machines"] if one["network"] in ids],
        "load_balancers": {
            name: verdicts
            for name, verdicts in report["load_balancers"].items()
            if any(IPv4Address(backend) in supernet for backend in verdicts)
        },
        "gateways": gateways,
        "cuts": [one for one in report["cuts"] if names & set(one.split("/"))],
    }
