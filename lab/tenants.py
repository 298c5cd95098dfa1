"""Tenants: environments in another environment's lab, which share its world, subscription, account and internet.

The lab of the first environment has the clouds, the machines and process 1, with which everything ends. An environment
that starts while this lab runs is a tenant of the lab. A tenant has its own state folder, operator namespace and
loopback port, and orders everything else from the same clouds. The ``config.json`` in its folder names its lab.
"""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path
from typing import Any

from lab.config import LabConfig
from lab.state import InitRecord, LabError, LabState, init_record, read_json, running_init


def host_of(state: LabState) -> LabState:
    """Return the lab that an environment is in: its own lab, or the lab of another environment."""
    beside = (read_json(state.config_file) or {}).get("beside", "")
    return LabState(root=state.root, env=str(beside)) if beside else state


def tenants_of(state: LabState) -> tuple[LabState, ...]:
    """Return the tenants of the lab ``state``, sorted by name."""
    states = (LabState(root=state.root, env=path.parent.name) for path in sorted(state.root.glob("*/config.json")))
    return tuple(tenant for tenant in states if tenant != state and host_of(tenant) == state)


def lab_to_join(state: LabState) -> str:
    """Return the environment whose lab ``state`` is in, or would join now; empty for an environment with its own lab.
    An existing environment stays with its clouds, even when they do not run."""
    if state.config_file.exists():
        return LabConfig.read(state).beside
    others = (LabState(root=state.root, env=path.parent.name) for path in sorted(state.root.glob("*/lab.json")))
    running = (other for other in others if other != state and running_init(other) is not None)
    return next((other.env for other in running if host_of(other) == other), "")


def check_fits(config: LabConfig, host: LabConfig, *, env: str) -> None:
    """Raise :class:`LabError` for a tenant that does not fit into its lab; the error names everything that is
    missing."""
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
    """Raise :class:`LabError` when a tenant conflicts with one of the ``others`` in the lab, given by environment."""
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
"""Addresses of the lab's operators on its internet."""


def configs(states: tuple[LabState, ...]) -> dict[str, LabConfig]:
    """Return the configurations of environments, by name; an environment whose folder is just being removed is left
    out."""
    by_environment = {}
    for state in states:
        if Path(state.config_file).exists():
            by_environment[state.env] = LabConfig.read(state)
    return by_environment


def take_in(state: LabState, config: LabConfig, host: InitRecord) -> InitRecord:
    """Record that ``state`` is in the lab of process 1 ``host``; return the record of ``state``."""
    state.create()
    config.write(state)
    return renew(state, host, port=config.port)


def renew(state: LabState, host: InitRecord, *, port: int) -> InitRecord:
    """Record that a tenant lives as long as ``host``, which is a new process after a restart of the lab."""
    record = InitRecord(pid=host.pid, started=host.started, boot_id=host.boot_id, port=port)
    record.write(state)
    return record


def host_record(config: LabConfig, state: LabState) -> tuple[LabState, InitRecord]:
    """Return the lab that a tenant is to join, with its record. Raise :class:`LabError` when it does not run."""
    host = LabState(root=state.root, env=config.beside)
    record = init_record(host)
    if record is None or not record.alive():
        raise LabError(f"the lab of {host.env}, in which {state.env} is, does not run: make lab ENV={host.env}")
    return host, record


def part_of(report: Mapping[str, Any], supernet: IPv4Network) -> dict[str, Any]:
    """Return the part of the daemon's report that belongs to the environment with the private range ``supernet``; the
    ranges of environments in one lab are disjoint. The part leaves out objects without a network, such as a machine
    that is being removed or a load balancer without a backend."""
    networks = [network for network in report["networks"] if IPv4Network(network["ranges"][0]).subnet_of(supernet)]
    ids = {network["id"] for network in networks}
    gateways = [gateway for gateway in report["gateways"] if gateway["network"] in ids]
    names = {gateway["name"] for gateway in gateways}
    return {
        **report,
        "networks": networks,
        "machines": [machine for machine in report["machines"] if machine["network"] in ids],
        "load_balancers": {
            name: verdicts
            for name, verdicts in report["load_balancers"].items()
            if any(IPv4Address(backend) in supernet for backend in verdicts)
        },
        "gateways": gateways,
        "cuts": [cut for cut in report["cuts"] if names & set(cut.split("/"))],
    }
