"""Judges machines in quarantine: by the list in the vault, and by reports from API servers and the cluster. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from components.model import plan
from components.model.nodes.host_nodes import host_nodes
from contract.reasons.status import StatusReason
from longhaul.report.status_verdict import StatusVerdict
from longhaul.status.observed import Observed

if TYPE_CHECKING:
    from components.model import Environment
    from contract.documents.quarantine import Quarantined


@dataclass(frozen=True, kw_only=True)
class QuarantineStatus:
    """Verdict on a machine in quarantine that was not released, or on the list itself."""

    name: str
    site: str
    verdict: StatusVerdict
    reason: StatusReason
    message: str
    since: str
    kept: tuple[str, ...] = ()


LIST = "(list)"
"""Name of the entry for the list itself; no machine can have it."""


def judge_quarantine(
    environment: Environment, servers: Collection[str], observed: Observed
) -> tuple[QuarantineStatus, ...]:
    """Return a verdict for every machine that was not released. It is a fault when an API server does not refuse the
    machine, when its Node exists, or when the hosts file does not mark it as quarantined. ``servers`` are all expected
    API servers. A list that cannot be read has an entry of its own, since nobody knows then whom to refuse."""
    if observed.quarantine_error:
        message = f"the list of machines in quarantine is not known: {observed.quarantine_error}"
        entry = QuarantineStatus(
            name=LIST,
            site="",
            verdict=StatusVerdict.DEGRADED,
            reason=StatusReason.LIST_UNREADABLE,
            message=message,
            since="",
        )
        return (entry,)
    reached = _reached(environment)
    return tuple(
        _judged(environment.name, entry, servers, observed, reached) for entry in observed.quarantine.unreleased
    )


def _reached(environment: Environment) -> Mapping[str, str]:
    """Return, by Node name, the names of the hosts that the hosts file lists and does not mark as quarantined."""
    nodes = host_nodes(environment, plan(environment))
    return {nodes[host.name].node_name: host.name for host in environment.hosts if not host.quarantined}


def _judged(
    env: str, entry: Quarantined, servers: Collection[str], observed: Observed, reached: Mapping[str, str]
) -> QuarantineStatus:
    refused = {name: answer.refuses for name, answer in observed.answers.items() if answer.refuses is not None}
    open_ = sorted(name for name, names in refused.items() if entry.name not in names)
    silent = sorted({*servers} - {*refused})
    again = f"`longhaul machine quarantine --env {env} {entry.name}`"
    if any(node.name == entry.name for node in observed.cluster.nodes):
        verdict, reason = StatusVerdict.UNHEALTHY, StatusReason.NODE_PRESENT
        message = f"a Node of its name is there: {again} deletes it"
    elif open_:
        verdict, reason = StatusVerdict.UNHEALTHY, StatusReason.NOT_REFUSED
        message = f"{', '.join(open_)} does not refuse it: {again} tells them"
    elif not entry.done:
        verdict, reason, message = StatusVerdict.DEGRADED, StatusReason.HALF_DONE, f"incomplete: {again} continues"
    elif entry.name in reached and not entry.machine:
        verdict, reason = StatusVerdict.DEGRADED, StatusReason.NOT_CUT_OFF
        message = (
            f"nothing cuts it off: write `quarantined: true` into the entry of {reached[entry.name]} in the hosts "
            f"file, then `longhaul hosts --env {env}`"
        )
    elif silent:
        verdict, reason = StatusVerdict.DEGRADED, StatusReason.REFUSAL_UNKNOWN
        message = f"{', '.join(silent)} did not report whether it refuses the machine: {again} checks"
    else:
        verdict, reason = StatusVerdict.OK, StatusReason.QUARANTINED
        message = f"kept: {', '.join(entry.kept) or 'nothing'}; {again.removesuffix('`')} --release` ends it"
    return QuarantineStatus(
        name=entry.name,
        site=entry.site,
        verdict=verdict,
        reason=reason,
        message=message,
        since=entry.since,
        kept=entry.kept,
    )
