"""Refuses changes that lose an etcd cluster, a resource that cannot be made again, addresses in use, or many nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from clouds.base.findings import Severity
from clouds.base.phrases import counted, names
from clouds.base.resources import ResourceKind, without_version
from clouds.registry import clouds
from components.model import Role, plan
from components.model.policy.immutable import Settings, changes, instead, settings
from contract.reasons.plan import PlanReason
from longhaul.judgement.capacity import CapacityRow
from longhaul.judgement.case import Case
from longhaul.judgement.changes import Change, ResourceAction
from longhaul.judgement.finding import PlanFinding
from longhaul.judgement.kinds import kind_of
from longhaul.judgement.moved_addresses import Moved, moved_in_files, moved_in_state
from longhaul.judgement.previous_environment import role_changes
from longhaul.judgement.risks import refused_risks
from longhaul.judgement.versions import kubelet_skew, refused_upgrades, removed_apis, version_mismatches

GONE = (ResourceAction.DESTROY, ResourceAction.REPLACE)


def refusal_findings(case: Case) -> Iterator[PlanFinding]:
    """Yield every finding that refuses a plan."""
    for refusal in REFUSALS:
        yield from (replace(finding, check=refusal.id) for finding in refusal.look(case))


def _quorum(case: Case) -> Iterator[PlanFinding]:
    for role in Role:
        yield from quorum(case, role)


def quorum(case: Case, role: Role) -> Iterator[PlanFinding]:
    """Yield a finding when more members are down at once than the etcd cluster tolerates. Members with a deletion hook
    are replaced one at a time, or removed from the cluster one at a time."""
    if not role.is_etcd:
        return
    of_role, before = role_changes(case.after, case.changes, role)
    founded = f"{case.after.name}-{role}-founded"
    if before == 0 or any(change.name == founded and change.action is ResourceAction.MAKE for change in case.changes):
        return
    gone = [change for change in of_role if change.action is ResourceAction.DESTROY]
    replaced = [change for change in of_role if change.action is ResourceAction.REPLACE]
    leaving = [*gone, *replaced]
    unguarded = [change for change in leaving if not change.guarded]
    guarded = 1 if len(leaving) > len(unguarded) else 0
    out, outlives = len(unguarded) + guarded, (before - 1) // 2
    alone = bool(gone) and before - len(gone) == 1
    if out <= outlives and not alone:
        return
    counts = [f"{counted(len(gone), 'member')} removed"] if gone else []
    counts += [f"{counted(len(replaced), 'member')} replaced"] if replaced else []
    if before == 1:
        why, do = _ONLY
    elif alone:
        why, do = _TO_ONE
    else:
        why = f"An etcd cluster of {before} survives the loss of {outlives}; {out} would be out of service at once."
        do = "Run `longhaul up` with the file as it was, which gives the machines their guards, then make the change."
    loss = "would have one member" if alone and before > 1 else "loses its quorum"
    yield PlanFinding(
        severity=Severity.PROBLEM,
        reason=PlanReason.ONE_MEMBER_LEFT if alone and before > 1 else PlanReason.QUORUM_LOST,
        what=f"The etcd cluster {role} {loss}: {' and '.join(counts)} of {before}.",
        where=tuple(sorted(change.name for change in (*gone, *replaced))),
        why=why,
        do=do,
    )


_ONLY = (
    "The etcd cluster has one member: its data would be gone.",
    "Give it three members first, run `longhaul up`, then make the change.",
)
"""Reason and advice when the only member of an etcd cluster would be replaced."""

_TO_ONE = (
    "One member survives no loss, and its machine can never be replaced.",
    "Leave it three members.",
)
"""Reason and advice when an etcd cluster would shrink to one member."""


def only_member(role: Role, name: str, *, lines: tuple[str, ...]) -> PlanFinding:
    """Return the finding that the only member of an etcd cluster is replaced, for a plan from files."""
    why, do = _ONLY
    what = f"The etcd cluster {role} loses its quorum: 1 member replaced of 1."
    return PlanFinding(
        severity=Severity.PROBLEM,
        reason=PlanReason.QUORUM_LOST,
        what=what,
        where=(name,),
        why=why,
        do=do,
        lines=lines,
    )


_LOST: dict[ResourceKind, tuple[str, str]] = {
    ResourceKind.VAULT: (
        "Every private key of the environment is in it, and the name of a deleted vault is taken for its retention.",
        "Take the change back: a vault's name, place and tenant are for the environment's life.",
    ),
    ResourceKind.AUTHORITY: (
        "Its key signs every certificate below it: members and servers refuse each other until all machines have "
        "fetched new ones, up to fifteen minutes (docs/certificates.md).",
        "Take the change back. If the key is lost or stolen, replace that authority alone, as docs/certificates.md "
        "says.",
    ),
    ResourceKind.KEY: (
        "It encrypts Secrets at rest, or signs tokens, or records that an etcd cluster exists.",
        "Take the change back: the vault's copy is the only one.",
    ),
    ResourceKind.DATA: (
        "What it holds, snapshots or state, is gone with it.",
        "Copy what it holds first, or take the resource out of the state without deleting it (`pulumi state delete`).",
    ),
    ResourceKind.GUARD: (
        "It stands for the whole environment: it goes first when all is destroyed.",
        "Use `longhaul destroy`, which asks, for environments whose file says `destroyable: true`.",
    ),
    ResourceKind.GROUP: (
        "Azure deletes everything in a group with it, the vault and both role_changes in the control plane's.",
        "Take the change of the site's name, region or subscription back; make a new site beside it and move.",
    ),
}


def _lost(case: Case) -> Iterator[PlanFinding]:
    """Yield findings about destroyed or replaced resources that cannot be made again."""
    for kind, (why, do) in _LOST.items():
        for action in GONE:
            lost = [change for change in case.changes if kind_of(change) is kind and change.action is action]
            if kind is ResourceKind.GROUP:
                lost = [change for change in lost if case.places.of(change).site in case.after.sites]
            if action is ResourceAction.DESTROY and case.after.control_plane.etcd.learner is None:
                lost = [change for change in lost if not _is_learners(change)]
            if lost:
                verb = "destroyed" if action is ResourceAction.DESTROY else "replaced"
                yield PlanFinding(
                    severity=Severity.PROBLEM,
                    reason=PlanReason.IRREPLACEABLE_LOST,
                    what=f"{counted(len(lost), kind.value).capitalize()} would be {verb}.",
                    where=tuple(change.name for change in lost),
                    why=why,
                    do=do,
                )


def _is_learners(change: Change) -> bool:
    """Return whether the resource is the learner's disk, which is removed when the file drops the learner."""
    lasting = (cloud.resources.lasting().get(without_version(change.type)) for cloud in clouds().values())
    return any(resource is not None and resource.with_learner for resource in lasting)


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
        what=f"An address plan in use changes: {names((str(move) for move in moved), most=3)}.",
        where=tuple(dict.fromkeys(move.what for move in moved)),
        why=(
            "Machines, pods, certificates and every link's other end know each other by these addresses; what has "
            "them is made anew or cut off."
        ),
        do=(
            "Take the change of `supernet`, `range`, `prefix`, or of the order of sites and hosts back; append new "
            "sites and hosts at the end, or make a new environment beside this one."
        ),
    )


def _immutable_settings(case: Case) -> Iterator[PlanFinding]:
    """Yield findings about the other immutable settings (``components/guards/immutable.py``). Ranges are reported with
    their resources."""
    for before, after in _settings(case):
        # Without a state, no other check detects that a zone's range moves.
        immutable = [
            change for change in changes(before, after) if not change.is_range or (case.stateless and change.is_zone)
        ]
        if immutable:
            yield PlanFinding(
                severity=Severity.PROBLEM,
                reason=PlanReason.IMMUTABLE_CHANGES,
                what=f"What is in use changes: {names((str(change) for change in immutable), most=3)}.",
                where=tuple(change.key for change in immutable),
                why="What is there would be made anew at another place, or under another name. `up` refuses it, too.",
                do=" ".join(["Take that back.", *instead(immutable)]),
            )


def _settings(case: Case) -> Iterator[tuple[Settings, Settings]]:
    """Yield the recorded immutable settings and the new ones; without a state, those of the two files."""
    if case.stateless and case.base is not None:
        yield settings(case.base, plan(case.base)), settings(case.after, plan(case.after))
    for change in case.changes:
        if change.short_type == "Held" and change.action is ResourceAction.CHANGE:
            yield change.before.get("facts") or {}, change.after.get("facts") or {}


def _nodes(case: Case) -> Iterator[PlanFinding]:
    """Yield a finding when a larger share of the pools' maximum is removed than allowed at once. A replaced group
    counts as removed."""
    rows = [row for row in case.rows if row.before is not None and row.name != "hosts"]
    before = sum(row.before.nodes.most for row in rows if row.before is not None)
    replaced = _replaced_pools(case)
    removed = {row.name: _removed(row, whole=row.name in replaced) for row in rows}
    removed = {name: number for name, number in removed.items() if number}
    yield from _too_many(case, removed, before, noun="node", of="the pools' maximum")


def _hosts(case: Case) -> Iterator[PlanFinding]:
    """Yield the same finding about hosts, when the earlier file is given."""
    if case.base is None:
        return
    staying = {host.name for host in case.after.hosts}
    removed = {host.name: 1 for host in case.base.hosts if host.name not in staying}
    yield from _too_many(case, removed, len(case.base.hosts), noun="host", of="the hosts")


def _too_many(case: Case, removed: dict[str, int], before: int, *, noun: str, of: str) -> Iterator[PlanFinding]:
    gone = sum(removed.values())
    if not before or gone <= case.max_removed * before:
        return
    yield PlanFinding(
        severity=Severity.PROBLEM,
        reason=PlanReason.TOO_MANY_GO,
        what=f"{counted(gone, noun)} of {before:,} would go, {gone / before:.0%} of {of}; {case.max_removed:.0%} may.",
        where=tuple(sorted(removed)),
        why="What runs on them ends, checkpoint or not, and the rest may have no room for it.",
        do="Go in steps, emptying the nodes first (docs/rolling.md), or say --max-removed if that much is meant to go.",
    )


def _replaced_pools(case: Case) -> set[str]:
    groups = (
        change
        for change in case.changes
        if kind_of(change) is ResourceKind.POOL and change.action is ResourceAction.REPLACE
    )
    return {case.places.of(group).part for group in groups}


def _removed(row: CapacityRow, *, whole: bool) -> int:
    if row.before is None:
        return 0
    if whole or row.after is None:
        return row.before.nodes.most
    return max(row.before.nodes.most - row.after.nodes.most, 0)


@dataclass(frozen=True, kw_only=True)
class PlanRefusal:
    """One kind of refusal. ``longhaul plan`` and ``longhaul up`` apply all kinds, the engine's guards only some."""

    id: str
    look: Callable[[Case], Iterator[PlanFinding]]
    engine: str
    """Part of it that the engine's own guards refuse, whoever runs the engine (docs/guards.md)."""


REFUSALS = (
    PlanRefusal(id="quorum", look=_quorum, engine="deleting a member's machine while the etcd cluster cannot spare it"),
    PlanRefusal(
        id="lost",
        look=_lost,
        engine="the vault, shared secrets, stores of data, a site's group; not authorities or disks",
    ),
    PlanRefusal(id="addresses", look=_addresses, engine="changes of the address plan; not of other addresses"),
    PlanRefusal(id="in-use", look=_immutable_settings, engine="all of it"),
    PlanRefusal(id="links", look=refused_risks, engine="nothing"),
    PlanRefusal(
        id="versions",
        look=version_mismatches,
        engine="nothing: the first replaced machine does not become ready",
    ),
    PlanRefusal(id="steps", look=refused_upgrades, engine="nothing"),
    PlanRefusal(id="skew", look=kubelet_skew, engine="nothing"),
    PlanRefusal(id="apis", look=removed_apis, engine="nothing"),
    PlanRefusal(id="nodes", look=_nodes, engine="nothing"),
    PlanRefusal(id="hosts", look=_hosts, engine="nothing: hosts are in no stack"),
)
"""Refusals in the order in which a plan reports them; docs/plan.md has the table. Policies are judged separately."""
