"""Findings of a plan: each has a reason for programs beside its sentences."""

from __future__ import annotations

from dataclasses import dataclass

from clouds.base.findings import Finding
from contract.reasons.plan import FileReason, PlanReason


@dataclass(frozen=True, kw_only=True)
class PlanFinding(Finding):
    """One finding of a plan."""

    reason: PlanReason | FileReason
