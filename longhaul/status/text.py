"""Renders the status, for people and for programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from clouds.base.findings import Severity
from clouds.base.phrases import counted
from longhaul.report.json_output import document
from longhaul.report.status_verdict import StatusVerdict
from longhaul.report.text import MANY, Cell, Marked, painted, table
from longhaul.status.fleet import NodeStatus
from longhaul.status.verdicts import EtcdStatus, Status
from longhaul.terminal.ages import age

_UNITS = ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"), (1, "B"))


def to_json(status: Status) -> str:
    """Return the status for programs: etcd clusters by name, and whether everything is healthy."""
    clusters = {etcd.name: _etcd(etcd) for etcd in status.etcd_clusters}
    return document({**asdict(status), "etcd_clusters": clusters, "healthy": status.healthy})


def _etcd(etcd: EtcdStatus) -> dict[str, Any]:
    members = [{**asdict(member), "healthy": member.healthy} for member in etcd.members]
    backup = None if etcd.backup is None else asdict(etcd.backup)
    return {
        "verdict": etcd.verdict,
        "reason": etcd.reason,
        "message": etcd.message,
        "members": members,
        "backup": backup,
    }


def to_text(status: Status, *, colour: bool) -> str:
    """Return aligned tables, and a summary line."""
    machines = [
        (machine.name, _mark(machine.verdict), machine.power or "-", machine.provisioning or "-", machine.message)
        for machine in status.machines
    ]
    members = [
        (f"{etcd.name}/{member.name}", _mark(member.verdict), member.message)
        for etcd in status.etcd_clusters
        for member in etcd.members
    ]
    parts = [(f"{etcd.name} cluster", _mark(etcd.verdict), etcd.message) for etcd in status.etcd_clusters]
    parts.append(("API", _mark(status.api.verdict), status.api.message))
    parts += [(f"pool {pool.name}", _mark(pool.verdict), pool.message) for pool in status.pools]
    parts += [(f"add-on {addon.name}", _mark(addon.verdict), addon.message) for addon in status.addons]
    parts += [("pods", _mark(pods.verdict), pods.message) for pods in status.pods]
    parts += [(f"rotation {rotation.name}", _mark(rotation.verdict), rotation.message) for rotation in status.rotations]
    parts += [(f"quarantine {entry.name}", _mark(entry.verdict), entry.message) for entry in status.quarantine]
    blocks = [
        _table(("MACHINE", "VERDICT", "POWER", "PROVISIONING", "REASON"), machines, colour=colour),
        _table(("MEMBER", "VERDICT", "REASON"), members, colour=colour),
        *_gateways(status, colour=colour),
        *_links(status, colour=colour),
        *_nodes(status.nodes, colour=colour),
        _table(("PART", "VERDICT", "REASON"), parts, colour=colour),
        _summary(status, colour=colour),
    ]
    return "\n\n".join(blocks)


def _gateways(status: Status, *, colour: bool) -> list[str]:
    rows = [
        (gateway.name, _mark(gateway.verdict), gateway.site, gateway.address, gateway.message)
        for gateway in status.gateways
    ]
    return [_table(("GATEWAY", "VERDICT", "SITE", "ADDRESS", "REASON"), rows, colour=colour)] if rows else []


def _links(status: Status, *, colour: bool) -> list[str]:
    rows = [
        (
            link.name,
            _mark(link.verdict),
            f"{link.up}/{link.tunnels}" if link.tunnels else "-",
            _ago(link.since),
            _size(link.bytes_in),
            _size(link.bytes_out),
            link.message,
        )
        for link in status.links
    ]
    head = ("LINK", "VERDICT", "TUNNELS", "SINCE", "IN", "OUT", "REASON")
    return [_table(head, rows, colour=colour)] if rows else []


def _nodes(nodes: Sequence[NodeStatus], *, colour: bool) -> list[str]:
    """Show all nodes when they are few, otherwise only those whose verdict is not ok."""
    shown = nodes if len(nodes) <= MANY else [node for node in nodes if node.verdict is not StatusVerdict.OK]
    rows = [
        (
            node.name,
            _mark(node.verdict),
            node.site or "-",
            node.pool or "-",
            _ago(node.created),
            node.version or "-",
            node.message,
        )
        for node in shown
    ]
    head = ("NODE", "VERDICT", "SITE", "POOL", "AGE", "VERSION", "REASON")
    return [_table(head, rows, colour=colour)] if rows else []


def _ago(text: str) -> str:
    """Return the age of a time in RFC 3339; ``-`` without a time."""
    try:
        then = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return "-"
    return age((datetime.now(tz=UTC) - (then if then.tzinfo else then.replace(tzinfo=UTC))).total_seconds())


def _size(count: int | None) -> str:
    if count is None:
        return "-"
    return next(f"{count / size:.1f} {unit}" for size, unit in _UNITS if count >= size or size == 1)


def _mark(verdict: StatusVerdict) -> Marked:
    return Marked(verdict, verdict.severity)


def _table(head: Sequence[str], rows: Sequence[Sequence[Cell]], *, colour: bool) -> str:
    return "\n".join(table(head, rows, indent="", width=None, colour=colour))


def _summary(status: Status, *, colour: bool) -> str:
    waiting = sum(pods.pods for pods in status.pods)
    text = f"{status.environment}: {'all is healthy' if status.healthy else 'not healthy'}"
    text += f"; {counted(waiting, 'pod')} {'does' if waiting == 1 else 'do'} not start" if waiting else ""
    return painted(text, Severity.OK if status.healthy else Severity.PROBLEM) if colour else text
