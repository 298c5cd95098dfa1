"""Judges changes as a plan: what happens and where, the consequences, and the verdict."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from clouds.base.findings import Severity, gravest, in_order
from clouds.base.resource_types import ResourceKind
from components.model import Environment
from longhaul.judgement.capacity import CapacityRow, compare
from longhaul.judgement.case import Case
from longhaul.judgement.cautions import new_cautions, standing_cautions
from longhaul.judgement.changes import Change, Changes, ResourceAction
from longhaul.judgement.cost import CostChange, Prices, compare_cost
from longhaul.judgement.deprecated_apis import Ask, no_cluster
from longhaul.judgement.environment_parts import EnvironmentPart, EnvironmentParts, places
from longhaul.judgement.finding import PlanFinding
from longhaul.judgement.interruptions import care_findings
from longhaul.judgement.previous_environment import PreviousEnvironment, previous_environment
from longhaul.judgement.properties import Property, properties
from longhaul.judgement.refusals import refusal_findings
from longhaul.judgement.resource_kinds import is_group, kind_of
from longhaul.judgement.versions import allowed_upgrades, deprecated_apis
from longhaul.judgement.weak_spots import standing_risks
from longhaul.judgement.without_state import by_files, file_changes
from longhaul.terminal.option_types import MAX_REMOVED

NEW = "new"
"""Verdict for a plan that had no base for comparison, and in which nothing needs care."""

VERDICTS = {Severity.OK: "safe", Severity.WARNING: "needs care", Severity.PROBLEM: "refused"}
"""Words for the verdict on a plan, and for the severity of a finding."""


@dataclass(frozen=True, kw_only=True)
class ResourceLine:
    """One resource that changes. Everything in it is safe to show."""

    urn: str
    name: str
    type: str
    action: ResourceAction
    component: bool
    """True for a group of resources, which does not itself exist in a cloud."""
    properties: tuple[Property, ...]


@dataclass(frozen=True, kw_only=True)
class PlaceChanges:
    """Changes in one place."""

    place: EnvironmentPart
    lines: tuple[ResourceLine, ...]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Effect of a change on an environment."""

    environment: str
    against: str
    """Words for the base of the comparison; they follow a semicolon."""
    new: bool
    """True when there was no base: neither a state nor an earlier file."""
    verdict: Severity
    """The gravest severity of all findings."""
    reasons: tuple[PlanFinding, ...]
    """Findings of Longhaul's own rules, the gravest first."""
    policy: tuple[PlanFinding, ...]
    """Findings of policies, the gravest first."""
    counts: dict[ResourceAction, int]
    """Number of resources by action, including groups, as the engine counts. Empty when only two files were
    compared."""
    groups: int
    """Number of groups among the counted resources."""
    keys: int | None
    """Number of changed keys in the file when only two files were compared; otherwise None."""
    same: int
    """Number of unchanged resources, including groups."""
    parts: tuple[PlaceChanges, ...]
    rows: tuple[CapacityRow, ...]
    cost: CostChange
    risks: tuple[PlanFinding, ...]
    """Risks that existed before, which do not affect the verdict."""
    notes: tuple[str, ...]
    """Sentences about what is unknown."""

    @property
    def word(self) -> str:
        """Return the verdict in words."""
        return NEW if self.new and self.verdict is Severity.OK else VERDICTS[self.verdict]


@dataclass(frozen=True, kw_only=True)
class PlanTerms:
    """Inputs of the judgement, besides the environment and its changes."""

    against: str = "compared with the state"
    new: bool = False
    """True when there is no stack yet. It need not be set for a preview that creates the stack."""
    base: Environment | None = None
    """The environment before the change, from the earlier file; None without that file."""
    images: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Versions in each site's image, by site and release, for images whose manifest is in the checkout."""
    apis: Ask = no_cluster
    """Asks the API servers for deprecated APIs in use. It is called only when Kubernetes' minor version increases."""
    max_removed: float = MAX_REMOVED
    """Share of the nodes that may be removed at once, 0 to 1."""
    prices: Prices | None = None
    """Function that computes the cost of an environment; None without a price book."""
    prices_source: str = ""
    """Words for the source of the prices."""
    policy: tuple[PlanFinding, ...] = ()
    """Findings of the policies about the resources."""
    unseen: tuple[str, ...] = ()
    """Sentences that say what was not examined, and why."""


def make_plan(environment: Environment, changes: Changes, terms: PlanTerms) -> Plan:
    """Judge ``changes``, which lead to ``environment``."""
    parts = places(environment, terms.base, changes.changes)
    state = previous_environment(environment, changes.changes, parts)
    before = terms.base or state.environment
    rows = compare(before, environment)
    case = Case(
        after=environment,
        before=before,
        base=terms.base,
        changes=changes.changes,
        places=parts,
        rows=rows,
        images=terms.images,
        apis=terms.apis,
        max_removed=terms.max_removed,
        stateless=state.environment is None,
    )
    reasons = in_order(
        [
            *refusal_findings(case),
            *by_files(case),
            *care_findings(case),
            *allowed_upgrades(case),
            *deprecated_apis(case),
            *new_cautions(case),
        ]
    )
    policy = in_order(terms.policy)
    # Without a state, the preview makes the whole environment, so it says nothing about the difference of two files.
    alone = case.base is not None and case.stateless
    happening = () if alone else changes.changes
    return Plan(
        environment=environment.name,
        against=terms.against,
        new=(case.stateless or terms.new) and case.base is None,
        verdict=gravest([*reasons, *policy]),
        reasons=reasons,
        policy=policy,
        counts=_counts(happening),
        groups=sum(map(is_group, happening)),
        keys=len(file_changes(case.base, environment)) if alone and case.base is not None else None,
        same=0 if alone else changes.same,
        parts=_parts(happening, parts),
        rows=rows,
        cost=compare_cost(before, environment, terms.prices, source=terms.prices_source),
        risks=(*standing_risks(case), *standing_cautions(case)),
        notes=_notes(state, terms),
    )


def _parts(changes: Iterable[Change], parts: EnvironmentParts) -> tuple[PlaceChanges, ...]:
    """Group the changes by place."""
    by_place: defaultdict[EnvironmentPart, list[ResourceLine]] = defaultdict(list)
    for change in changes:
        by_place[parts.of(change)].append(_line(change))
    return tuple(PlaceChanges(place=place, lines=tuple(by_place[place])) for place in parts.in_order(by_place))


def _line(change: Change) -> ResourceLine:
    return ResourceLine(
        urn=change.urn,
        name=change.name,
        type=change.type,
        action=change.action,
        component=is_group(change),
        properties=() if kind_of(change) is ResourceKind.QUIET and not is_group(change) else properties(change),
    )


def _counts(changes: Iterable[Change]) -> dict[ResourceAction, int]:
    counted = Counter(change.action for change in changes)
    return {action: counted[action] for action in ResourceAction if action in counted}


def _notes(state: PreviousEnvironment, terms: PlanTerms) -> tuple[str, ...]:
    """Return sentences about what is unknown."""
    if state.environment is None:
        scope = (
            "what its files say" if terms.base is None else "how its files differ, not the effect on running machines"
        )
        return (
            *terms.unseen,
            f"There was no state to compare with: if the environment exists, this plan shows {scope}.",
        )
    return (*terms.unseen, *(state.notes if terms.base is None else ()))
