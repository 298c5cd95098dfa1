"""Checks of waivers that need only the file. Only a preview shows which findings a waiver admits."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

from clouds.base.faults import Caution, Fault
from clouds.base.phrases import suggestion
from clouds.base.policy_rules import RULES
from components.model.environment import Environment
from components.model.policy.judging import refusal
from contract.reasons.plan import FileReason


def check_waivers(environment: Environment) -> Iterator[Fault]:
    """Yield a fault for each waiver whose rule does not exist or cannot be waived."""
    for index, waiver in enumerate(environment.waivers):
        wrong = refusal(waiver)
        if wrong:
            write = suggestion([rule.id for rule in RULES if rule.waivable], waiver.rule)
            yield Fault(at=("waivers", index, "rule"), wrong=wrong, write=write)


def ended(environment: Environment, today: date) -> Iterator[Caution]:
    """Yield a caution for each waiver that has expired on the day ``today``, in UTC."""
    for index, waiver in enumerate(environment.waivers):
        if waiver.until < today:
            yield Caution(
                reason=FileReason.WAIVER_ENDED,
                about=f"{waiver.rule} {waiver.resource}",
                at=("waivers", index, "until"),
                wrong=f"{waiver.rule} for {waiver.resource} ended on {waiver.until}: it no longer admits anything",
                write="a value that the rule accepts, or a new day that somebody approves",
            )
