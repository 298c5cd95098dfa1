"""Turns the verdicts of the policies on a preview's resources into findings of the plan."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from clouds.base.findings import Finding, Severity
from clouds.base.policy import Resource
from components.model import Environment
from components.model.policy import judging
from components.model.policy.judging import WHY, Waived, name_of
from contract.reasons.plan import PlanReason
from longhaul.judgement.finding import PlanFinding
from longhaul.judgement.preview_document import PreviewDocument, PreviewStep

SAME, READ = "same", "refresh"


def policy_findings(documents: Iterable[PreviewDocument], environment: Environment) -> tuple[PlanFinding, ...]:
    """Return a finding for each broken rule, for each invalid waiver, and for each waived fault. A broken rule is a
    refusal only if this change makes or alters the resource. A rule that was already broken, or an invalid waiver,
    needs care but does not block another change. With ``--refresh``, changes in the cloud itself do not count as part
    of the change."""
    every = (step for document in documents for step in document.steps if step.op != READ)
    steps = [step for step in every if step.new is not None and step.new.custom]
    judged = judging.policies(environment).judge(map(_resource, steps))
    fresh = {step.urn for step in steps if step.op != SAME}
    by_rule: defaultdict[tuple[str, bool], list[Finding]] = defaultdict(list)
    for fault in judged.findings:
        by_rule[fault.check, fault.where[0] in fresh].append(fault)
    broken = tuple(_finding(rule, by_rule[rule, new], fresh=new) for rule, new in sorted(by_rule))
    return (*broken, *map(_admitted, judged.waived))


def _resource(step: PreviewStep) -> Resource:
    kinship, name = step.urn.split("::", 3)[2:]
    inputs = step.new.inputs if step.new else {}
    return Resource(urn=step.urn, type=kinship.rsplit("$", 1)[-1], name=name, inputs=inputs)


def _finding(rule: str, faults: list[Finding], *, fresh: bool) -> PlanFinding:
    # A waiver is in the file; no resource shows whether it is new.
    since = "" if fresh or rule in WHY else "; it was broken before"
    return PlanFinding(
        severity=Severity.PROBLEM if fresh else Severity.WARNING,
        reason=PlanReason.POLICY_BROKEN if fresh else PlanReason.POLICY_WAS_BROKEN,
        what=f"policy {rule}: {_each_once(fault.what for fault in faults)}{since}",
        where=tuple(sorted({name_of(fault) for fault in faults})),
        why=_each_once(fault.why for fault in faults),
        do=f"{_each_once(fault.do for fault in faults)}; or waive it in the environment file (docs/policy.md)",
    )


def _admitted(waived: Waived) -> PlanFinding:
    waiver = waived.waiver
    return PlanFinding(
        severity=Severity.OK,
        reason=PlanReason.POLICY_WAIVED,
        what=f"policy {waived.finding.check} is waived until {waiver.until}: {waived.finding.what}",
        where=(name_of(waived.finding),),
        why=waiver.why,
        do=f"nothing; approved by {waiver.approved_by}",
    )


def _each_once(texts: Iterable[str]) -> str:
    return "; ".join(dict.fromkeys(texts))
