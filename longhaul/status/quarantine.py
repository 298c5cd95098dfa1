"""Judges machines in quarantine: by the list in the vault, and by what API servers and the cluster say. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from longhaul.status.fleet import Verdict
from longhaul.status.observed import Observed

if TYPE_CHECKING:
    from components.model.quarantine import Quarantined


@dataclass(frozen=True, kw_only=True)
class QuarantineStatus:
    """Verdict on a machine in quarantine of which something is kept."""

    name: str
    site: str
    verdict: Verdict
    reason: str
    since: str
    kept: tuple[str, ...] = ()


def judge_quarantine(env: str, observed: Observed) -> tuple[QuarantineStatus, ...]:
    """Return every machine that was not released. One that an API server does not refuse, or of which a Node is there,
    is a fault."""
    return tuple(_judged(env, entry, observed) for entry in observed.quarantine.held)


def _judged(env: str, entry: Quarantined, observed: Observed) -> QuarantineStatus:
    told = {name: answer.refuses for name, answer in observed.answers.items() if answer.refuses is not None}
    open_ = sorted(name for name, names in told.items() if entry.name not in names)
    again = f"`longhaul machine quarantine --env {env} {entry.name}`"
    if any(node.name == entry.name for node in observed.cluster.nodes):
        verdict, reason = Verdict.UNHEALTHY, f"a Node of its name is there: {again} deletes it"
    elif open_:
        verdict, reason = Verdict.UNHEALTHY, f"{', '.join(open_)} does not refuse it: {again} tells them"
    elif not entry.done:
        verdict, reason = Verdict.DEGRADED, f"half done: {again} goes on"
    else:
        verdict, reason = Verdict.OK, f"kept: {', '.join(entry.kept) or 'nothing'}; {again} --release ends it"
        reason = reason.replace("` --release", " --release`")
    return QuarantineStatus(
        name=entry.name, site=entry.site, verdict=verdict, reason=reason, since=entry.since, kept=entry.kept
    )
