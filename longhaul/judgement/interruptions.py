"""Finds what a reviewer should look at: interruptions, and their duration when a source states it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from clouds.base.findings import Severity
from clouds.base.phrases import counted
from clouds.base.resource_types import ResourceKind
from clouds.registry import clouds
from components.model import Role
from contract.reasons.plan import PlanReason
from longhaul.judgement.case import Case
from longhaul.judgement.changes import Change, ResourceAction
from longhaul.judgement.consequences import CONSEQUENCES, Consequence
from longhaul.judgement.data_loss import GONE
from longhaul.judgement.environment_parts import ENVIRONMENT, LINKS, EnvironmentPart
from longhaul.judgement.finding import PlanFinding
from longhaul.judgement.learner import learner_changes
from longhaul.judgement.masking import LATER, mask
from longhaul.judgement.previous_environment import role_changes
from longhaul.judgement.properties import changes_only, properties
from longhaul.judgement.quorum import quorum
from longhaul.judgement.resource_kinds import kind_of
from longhaul.judgement.weak_spots import new_risks, new_sites

_ACTIONS = {
    ResourceAction.CHANGE: ("changes", "change"),
    ResourceAction.REPLACE: ("is replaced", "are replaced"),
    ResourceAction.DESTROY: ("goes", "go"),
    ResourceAction.MAKE: ("is new", "are new"),
}
"""Verb for one resource, and for several."""

_MAY_STAY = "It stays as it is if what a preview cannot know turns out to be the same."

_GOES_ON = "Running work is not interrupted"

_WORDS = {Role.API: "API server", Role.VPN: "VPN machine"}
"""Words for machines that are not etcd members."""

_REPLACED = {
    Role.API: PlanReason.API_SERVERS_REPLACED,
    Role.ETCD: PlanReason.MEMBERS_REPLACED,
    Role.EVENTS: PlanReason.MEMBERS_REPLACED,
    Role.VPN: PlanReason.VPN_MACHINES_REPLACED,
}
_REMOVED = {
    Role.API: PlanReason.API_SERVERS_GO,
    Role.ETCD: PlanReason.MEMBERS_GO,
    Role.EVENTS: PlanReason.MEMBERS_GO,
    Role.VPN: PlanReason.VPN_MACHINES_GO,
}

_TURN = "Each is waited for until it is ready, 15 minutes at most (docs/operations.md)."


def care_findings(case: Case) -> Iterator[PlanFinding]:
    """Yield every finding that needs a reviewer's care."""
    for role in Role:
        if not any(quorum(case, role)):
            yield from _replaced_machines(case, role)
            yield from _removed_machines(case, role)
    yield from learner_changes(case)
    yield from _pools_that_go(case)
    yield from _sites_that_go(case)
    yield from new_risks(case)
    by_kind = _by_kind(case)
    for kind, consequence in CONSEQUENCES.items():
        for action in _ACTIONS:
            yield from _finding(kind, action, consequence, by_kind[kind, action])


def _by_kind(case: Case) -> defaultdict[tuple[ResourceKind, ResourceAction], list[Change]]:
    """Group the changes by kind and action. Leave out changes of tags alone, parts of a deleted machine, pool or site,
    and new parts of a machine, a pool, a link or a new site."""
    by_kind: defaultdict[tuple[ResourceKind, ResourceAction], list[Change]] = defaultdict(list)
    gone, made = _gone_places(case), new_sites(case)
    for change in case.changes:
        place = case.places.of(change)
        if place in gone or _goes_with_its_site(place, case) or changes_only(change, "tags", "tagSpecifications"):
            continue
        if change.action is ResourceAction.MAKE and (place.kind or place.site in made):
            continue
        by_kind[kind_of(change), change.action].append(change)
    return by_kind


def _finding(
    kind: ResourceKind, action: ResourceAction, consequence: Consequence, changes: list[Change]
) -> Iterator[PlanFinding]:
    why = {ResourceAction.CHANGE: consequence.change, ResourceAction.MAKE: consequence.made}.get(
        action, consequence.gone
    )
    if changes and why:
        subject = f"The {kind} {changes[0].name}" if len(changes) == 1 else counted(len(changes), kind.value)
        yield PlanFinding(
            severity=Severity.WARNING,
            reason=consequence.reason,
            what=f"{subject} {_verb(action, len(changes))}.",
            where=tuple(change.name for change in changes),
            why=why
            if action is not ResourceAction.REPLACE or not all(map(_may_stay, changes))
            else f"{why} {_MAY_STAY}",
            do=consequence.do,
            lines=_rules(kind, action, changes),
        )


def _rules(kind: ResourceKind, action: ResourceAction, changes: list[Change]) -> tuple[str, ...]:
    """Return the lines of security rules that are created or destroyed as a whole. Other rules are only counted."""
    whole = kind is ResourceKind.RULE and action in (ResourceAction.MAKE, ResourceAction.DESTROY)
    return tuple(line for change in changes for line in _lines(change)) if whole else ()


def _lines(change: Change) -> Iterator[str]:
    inputs = mask(dict(change.after or change.before))
    for cloud in clouds().values():
        yield from (f"{change.name}: {rule}" for rule in cloud.resources.rules(change.type, inputs))


def _may_stay(change: Change) -> bool:
    """Return whether the resource is replaced only because of values that are unknown before the run."""
    forcing = [property_ for property_ in properties(change) if property_.replaces]
    return bool(forcing) and all(property_.after == LATER for property_ in forcing)


def _verb(action: ResourceAction, number: int) -> str:
    return _ACTIONS[action][0 if number == 1 else 1]


def _replaced_machines(case: Case, role: Role) -> Iterator[PlanFinding]:
    """Yield a finding about a role's replaced control-plane machines. It says what continues to work meanwhile."""
    changes, before = role_changes(case.after, case.changes, role)
    replaced = tuple(change.name for change in changes if change.action is ResourceAction.REPLACE)
    if not replaced:
        return
    guarded = all(change.guarded for change in changes if change.action is ResourceAction.REPLACE)
    yield replacement(role, replaced, before, one_at_a_time=guarded)


def replacement(
    role: Role, replaced: Sequence[str], before: int, *, one_at_a_time: bool, lines: tuple[str, ...] = ()
) -> PlanFinding:
    """Return the finding that machines of a role, out of ``before``, are replaced."""
    turns = ", one at a time" if one_at_a_time and len(replaced) > 1 else ""
    return PlanFinding(
        severity=Severity.WARNING,
        reason=_REPLACED[role],
        what=f"{_machines(len(replaced), before, role)} {_verb(ResourceAction.REPLACE, len(replaced))}{turns}.",
        where=tuple(replaced),
        why=f"{_meanwhile(role, before)} {_TURN}",
        do="First check that all of them are healthy (`longhaul status`); a machine that does not come back stops "
        "the run.",
        lines=lines,
    )


def _removed_machines(case: Case, role: Role) -> Iterator[PlanFinding]:
    """Yield a finding about control-plane machines that are removed without a successor."""
    changes, before = role_changes(case.after, case.changes, role)
    gone = tuple(change.name for change in changes if change.action is ResourceAction.DESTROY)
    if not gone:
        return
    why, do = "The others take its load.", "Check that the remaining ones are enough for the nodes."
    if role is Role.VPN:
        why, do = "Laptops can no longer connect to the environment.", "Tell its users."
    if role.is_etcd:
        left = before - len(gone)
        why = f"They are taken out of the etcd cluster one at a time; {left} survive the loss of {(left - 1) // 2}."
        do = "First check that all of them are healthy (`longhaul status`)."
    yield PlanFinding(
        severity=Severity.WARNING,
        reason=_REMOVED[role],
        what=f"{_machines(len(gone), before, role)} {_verb(ResourceAction.DESTROY, len(gone))}.",
        where=gone,
        why=why,
        do=do,
    )


def _machines(number: int, before: int, role: Role) -> str:
    of = counted(before, _WORDS.get(role, "member"))
    return f"{number} of {of} of the etcd cluster {role}" if role.is_etcd else f"{number} of {of}"


def _meanwhile(role: Role, before: int) -> str:
    """Describe what keeps working while a machine is replaced."""
    if role is Role.VPN:
        return f"{_GOES_ON}: laptops of each are cut off, and connect to the other."
    if before == 1:
        return "There is no other: until it is back, " + (
            "nothing can be written." if role.is_etcd else "the API does not answer."
        )
    if role.is_etcd:
        return f"{_GOES_ON}: the others keep the quorum; each joins again as a learner, with an empty disk."
    return (
        f"{_GOES_ON}: each leaves the load balancer first, so that it gets no new connection; watches and "
        "`kubectl exec` through it break and begin again with another."
    )


def _gone_places(case: Case) -> set[EnvironmentPart]:
    """Return machines and pools that are destroyed as a whole. Their parts need no separate finding."""
    whole = (ResourceKind.MACHINE, ResourceKind.POOL)
    ends = (change for change in case.changes if change.action is ResourceAction.DESTROY and kind_of(change) in whole)
    return {case.places.of(change) for change in ends}


def _goes_with_its_site(place: EnvironmentPart, case: Case) -> bool:
    """Return whether the change of this part is a consequence of removing a site."""
    ends = [site for site in case.places.sites if site not in case.after.sites]
    if place.kind == "link":
        return any(place.part.startswith(f"{site}-") or place.part.endswith(f"-{site}") for site in ends)
    return place.site in ends and place.site not in (LINKS, ENVIRONMENT)


def _pools_that_go(case: Case) -> Iterator[PlanFinding]:
    pools = (place for place in _gone_places(case) if place.kind == "pool" and place.part not in case.after.pools)
    for place in case.places.in_order(place for place in pools if place.site in case.after.sites):
        yield PlanFinding(
            severity=Severity.WARNING,
            reason=PlanReason.POOL_GOES,
            what=f"The pool {place.part} in {place.site} goes.",
            where=(place.part,),
            why="All of its machines are ended, with everything that runs on them, checkpoint or not.",
            do="Empty it first: cordon its nodes and wait for the work to end (docs/rolling.md).",
        )


def _sites_that_go(case: Case) -> Iterator[PlanFinding]:
    for site in case.places.sites:
        changes = [
            change
            for change in case.changes
            if case.places.of(change).site == site and change.action in GONE and change.custom
        ]
        if site not in case.after.sites and changes:
            yield PlanFinding(
                severity=Severity.WARNING,
                reason=PlanReason.SITE_GOES,
                what=f"The site {site} goes, with {counted(len(changes), 'resource')} and its links.",
                where=(site,),
                why="Everything in it ends.",
                do="Check that nothing in it is in use. Write the present `range` of the sites after it into the "
                "file, or their blocks move.",
            )
