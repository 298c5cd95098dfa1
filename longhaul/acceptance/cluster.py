"""Checks of the cluster as a whole: components, nodes, a second ``up``, the engine's state."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from contract.kubernetes.connection import Object
from contract.kubernetes.paths import NODES
from contract.labels import SITE_LABEL
from longhaul.acceptance.check import NotApplicableError, NotSoError
from longhaul.acceptance.steps import run_or_fail
from longhaul.acceptance.target import AcceptanceTarget
from longhaul.acceptance.time_limit import Deadline
from longhaul.cluster.nodes import node as node_view
from longhaul.racks.inventory import has_hosts
from longhaul.report.status_verdict import StatusVerdict
from longhaul.terminal.exits import Exit

COUNTS = ("create", "update", "replace", "delete")
"""Kinds of change that a preview counts."""
KEY = "PRIVATE KEY"
"""Text in the first line of every private key in PEM (RFC 7468)."""
UNASKED = (Exit.USAGE, Exit.UNREACHABLE)
"""Exit codes of ``status`` when it cannot ask: no credentials, no lab or no usable file. ``status`` has already waited
for errors that pass by themselves (clouds/azure/session.py), so asking again is useless."""


def components(target: AcceptanceTarget) -> str:
    """Wait until ``longhaul status`` finds everything healthy: load balancer probes and tunnels need some time."""
    return await_healthy(target, target.condition_deadline())


def await_healthy(target: AcceptanceTarget, limit: Deadline) -> str:
    """Wait until ``longhaul status`` finds everything healthy, and return its counts as text. Raise ``LateError`` with
    the last findings at the deadline. Raise ``NotSoError`` at once when ``status`` cannot ask, or no control-plane
    machine exists."""
    status: dict[str, Any] = {}

    def why_not() -> str:
        done = target.commands.run("status", "--json", limit=limit)
        message = f"`longhaul status` ended with {done.code}{f': {done.last_line}' if done.last_line else ''}"
        if done.code in UNASKED:
            raise NotSoError(message)
        try:
            status.update(json.loads(done.stdout))
        except ValueError:
            return message
        machines = status.get("machines")
        if machines and all(machine["verdict"] == StatusVerdict.MISSING for machine in machines):
            raise NotSoError("no machine of the control plane is in its cloud: `longhaul up` makes them")
        return "" if done.code == Exit.OK else "; ".join(_unwell(status)) or "it gives no reason"

    limit.eventually(why_not, what="`longhaul status` finds everything healthy")
    counted = (
        ("machines", "machine"),
        ("etcd_clusters", "etcd cluster"),
        ("links", "link"),
        ("nodes", "node"),
        ("addons", "add-on"),
    )
    parts = [f"{len(status[key])} {word}{'' if len(status[key]) == 1 else 's'}" for key, word in counted]
    return f"the API ({status['api']['message']}), {', '.join(parts)}: all healthy"


def _unwell(status: Mapping[str, Any]) -> Iterator[str]:
    """Yield each part whose verdict is a fault, with the reason."""
    clusters = [{"name": f"{name} cluster", **etcd} for name, etcd in status.get("etcd_clusters", {}).items()]
    groups = (status.get(key, ()) for key in ("machines", "gateways", "links", "nodes", "pools", "addons"))
    for part in (*clusters, {"name": "API", **status.get("api", {})}, *(item for group in groups for item in group)):
        if part.get("verdict") not in (StatusVerdict.OK, StatusVerdict.UNKNOWN, StatusVerdict.JOINING):
            yield f"{part.get('name')} is {part.get('verdict')}: {part.get('message')}"


def nodes(target: AcceptanceTarget) -> str:
    """Check that there are enough nodes, that all of them are ready, and that API servers and kubelets have the version
    in the environment's file."""
    environment, api = target.environment, target.api("")
    wanted = f"v{environment.versions.kubernetes}"
    served = str(api.get("/version").get("gitVersion"))
    if served != wanted:
        raise NotSoError(f"the API servers are {served}, the file says {wanted}")
    least = sum(pool.min for pool in environment.pools.values()) + len(environment.hosts)
    observed: list[Object] = []

    def why_not(items: list[Object]) -> str:
        observed[:] = items
        views = [node_view(item) for item in items]
        unready = [f"{view.name} is not ready: {view.message}" for view in views if not view.ready]
        others = [f"{view.name} is {view.version}, not {wanted}" for view in views if view.version != wanted]
        few = [f"{len(items)} nodes of {least}"] if len(items) < least else []
        return "; ".join((*few, *unready, *others))

    target.condition_deadline().await_items(api, NODES, why_not, what="every node is ready and of the declared version")
    sites = ", ".join(sorted({item["metadata"]["labels"].get(SITE_LABEL, "no site") for item in observed}))
    return f"{len(observed)} nodes ready on {sites or 'no site'}, API servers and kubelets {wanted}"


def unchanged(target: AcceptanceTarget) -> str:
    """Check that a preview reports no change, run ``up`` again, and check that neither another preview nor the racks
    report a change."""
    before = _changes(target)
    if before:
        raise NotSoError(f"before a second `up` its preview would change: {before}")
    run_or_fail(target.commands, "up", "--yes", limit=target.limit)
    after = _changes(target)
    if after:
        raise NotSoError(f"after a second `up` its preview would change: {after}")
    if not has_hosts(target.environment):
        return "a second `up` succeeded, previews before and after it change nothing"
    hosts = json.loads(run_or_fail(target.commands, "hosts", "--json", limit=target.limit).stdout)["hosts"]
    changed = {name: host["changed"] for name, host in hosts.items() if host["changed"]}
    if changed:
        raise NotSoError(f"racks were changed again: {changed}")
    return f"a second `up` succeeded, previews before and after it and {len(hosts)} rack machines change nothing"


def _changes(target: AcceptanceTarget) -> str:
    counts = json.loads(run_or_fail(target.commands, "plan", "--raw", "--format", "json", limit=target.limit).stdout)
    stacks = {"infrastructure": counts, "objects": counts.get("objects", {})}
    return ", ".join(
        f"{stack}: {counts[key]} to {key}" for stack, counts in stacks.items() for key in COUNTS if counts.get(key)
    )


def no_keys(target: AcceptanceTarget) -> str:
    """Check that the engine's state, decrypted in memory, holds no private key."""
    exported = target.exported()
    if not exported:
        raise NotApplicableError("the engine keeps no state of it")
    counts = {stack: len(json.loads(text)["deployment"].get("resources") or ()) for stack, text in exported.items()}
    if empty := [stack for stack, count in counts.items() if not count]:
        raise NotSoError(f"the state of {', '.join(empty)} is empty, so it shows nothing")
    if leaks := [stack for stack, text in exported.items() if KEY in text]:
        raise NotSoError(f"a private key is in the state of {', '.join(leaks)}")
    resources = ", ".join(f"{count} resources of {stack}" for stack, count in counts.items())
    return f"{resources}, decrypted: no private key"
