"""Lists all refusals, and judges two kinds itself: moved addresses, and settings that must not change."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from clouds.base.findings import Severity
from clouds.base.phrases import names
from components.model import plan
from components.model.policy.immutable import Settings, changes, instead, settings
from contract.reasons.plan import PlanReason
from longhaul.judgement.case import Case
from longhaul.judgement.changes import ResourceAction
from longhaul.judgement.data_loss import lost_resources
from longhaul.judgement.finding import PlanFinding
from longhaul.judgement.moved_addresses import Moved, moved_in_files, moved_in_state
from longhaul.judgement.quorum import lost_quorums
from longhaul.judgement.removed_nodes import removed_hosts, removed_nodes
from longhaul.judgement.resizes import refused_resizes
from longhaul.judgement.versions import kubelet_skew, refused_upgrades, removed_apis, version_mismatches
from longhaul.judgement.weak_spots import refused_risks


def refusal_findings(case: Case) -> Iterator[PlanFinding]:
    """Yield every finding that refuses a plan."""
    for refusal in REFUSALS:
        yield from (replace(finding, check=refusal.id) for finding in refusal.look(case))


def _addresses(case: Case) -> Iterator[PlanFinding]:
    """Yield a finding when addresses in use would change."""
    if case.before is None:
        return
    state = list(moved_in_state(case.changes, places=case.places, staying=case.after.sites))
    files = list(moved_in_files(case.base, case.after)) if case.base is not None else []
    moved: list[Moved] = [*files, *state]
    if not moved:
        return
    yield PlanFinding(
        severity=Severity.PROBLEM,
        reason=PlanReason.ADDRESSES_MOVE,
        what=f"The address plan in use changes: {names((str(move) for move in moved), most=3)}.",
        where=tuple(dict.fromkeys(move.what for move in moved)),
        why=(
            "Machines, pods, certificates and every link's other end know each other by these addresses; their "
            "holders are replaced or cut off."
        ),
        do=(
            "Undo the change of `supernet`, `range`, `prefix`, or of the order of sites and hosts; append new sites "
            "and hosts at the end, or make a new environment beside this one."
        ),
    )


def _immutable_settings(case: Case) -> Iterator[PlanFinding]:
    """Yield findings about the other immutable settings (``components/guards/immutable.py``). The finding about
    addresses covers ranges."""
    for before, after in _settings(case):
        # Without a state, no other check detects that a zone's range moves.
        immutable = [
            change for change in changes(before, after) if not change.is_range or (case.stateless and change.is_zone)
        ]
        if immutable:
            yield PlanFinding(
                severity=Severity.PROBLEM,
                reason=PlanReason.IMMUTABLE_CHANGES,
                what=f"A setting in use changes: {names((str(change) for change in immutable), most=3)}.",
                where=tuple(change.key for change in immutable),
                why="The existing resources would be made again at another place, or under another name. `up` refuses "
                "it, too.",
                do=" ".join(["Take that back.", *instead(immutable)]),
            )


def _settings(case: Case) -> Iterator[tuple[Settings, Settings]]:
    """Yield pairs of immutable settings: the recorded and the new settings, or without a state the settings of the two
    files."""
    if case.stateless and case.base is not None:
        yield settings(case.base, plan(case.base)), settings(case.after, plan(case.after))
    for change in case.changes:
        if change.short_type == "Held" and change.action is ResourceAction.CHANGE:
            yield change.before.get("facts") or {}, change.after.get("facts") or {}


@dataclass(frozen=True, kw_only=True)
class PlanRefusal:
    """One kind of refusal. ``longhaul plan`` and ``longhaul up`` apply all kinds, the engine's guards only some."""

    id: str
    look: Callable[[Case], Iterator[PlanFinding]]
    engine: str
    """Part of the refusal that the engine's own guards enforce, whoever runs the engine (docs/guards.md)."""


REFUSALS = (
    PlanRefusal(
        id="quorum", look=lost_quorums, engine="deleting a member's machine while the etcd cluster cannot spare it"
    ),
    PlanRefusal(
        id="lost",
        look=lost_resources,
        engine="the vault, shared secrets, stores of data, a site's group; not authorities or disks",
    ),
    PlanRefusal(id="addresses", look=_addresses, engine="changes of the address plan; not of other addresses"),
    PlanRefusal(id="in-use", look=_immutable_settings, engine="all of it"),
    PlanRefusal(id="links", look=refused_risks, engine="nothing"),
    PlanRefusal(id="resizes", look=refused_resizes, engine="nothing: Azure refuses them in the middle of `up`"),
    PlanRefusal(
        id="versions",
        look=version_mismatches,
        engine="nothing: the first replaced machine does not become ready",
    ),
    PlanRefusal(id="steps", look=refused_upgrades, engine="nothing"),
    PlanRefusal(id="skew", look=kubelet_skew, engine="nothing"),
    PlanRefusal(id="apis", look=removed_apis, engine="nothing"),
    PlanRefusal(id="nodes", look=removed_nodes, engine="nothing"),
    PlanRefusal(id="hosts", look=removed_hosts, engine="nothing: hosts are in no stack"),
)
"""Refusals in the order in which a plan reports them; docs/plan.md has the table. Policies are judged separately."""
