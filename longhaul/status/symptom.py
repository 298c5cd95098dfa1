"""The type of a symptom, and the parts of an environment that have symptoms."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from contract.reasons.status import StatusReason

STATUS = "longhaul status"
"""Command whose reader has just run it, so that it is named on the page alone."""


class SymptomSubject(StrEnum):
    """Kind of a part of the environment, as far as its commands differ."""

    PODS = "pods"
    HOST = "host"
    POOL = "pool"
    POOL_MACHINE = "pool machine"
    GATEWAY = "gateway"
    RACK_LINK = "rack link"
    CLOUD_LINK = "cloud link"
    CONTROL_MACHINE = "control machine"
    ETCD_CLUSTER = "etcd cluster"
    API = "API"
    ADDON = "add-on"
    ROTATION = "rotation"
    QUARANTINE = "quarantine"


@dataclass(frozen=True, kw_only=True)
class Symptom:
    """A symptom. Commands contain ``{env}``, ``{name}``, and for pods ``{namespace}`` and ``{claim}``."""

    shows: str
    """The sight, for the page, in Markdown."""
    look: str
    """Command that looks."""
    mend: str = ""
    """Command that mends; empty when none does for all cases."""
    advice: str = ""
    """Advice where no command mends, or the condition under which the command is right."""
    lab: str = ""
    """Command that mends in a lab, in Markdown: somebody may have cut or switched off the part there by hand."""
    page: str = ""
    """Page that says more, with its anchor."""
    subject: SymptomSubject | None = None
    """None for a symptom that ``status`` does not see."""
    reasons: tuple[StatusReason, ...] = ()
    words: str = ""
    """Words of the message that tell this symptom from the others with the same reason; empty for any message."""
    stated: bool = False
    """True when the message of ``status`` names the command that mends already."""

    def is_symptom_of(self, subject: SymptomSubject, reason: StatusReason, message: str) -> bool:
        """Return whether it is a symptom of a subject with that reason and message."""
        return self.subject is subject and reason in self.reasons and self.words in message

    def sentence(self, *, in_lab: bool = False, **names: str) -> str:
        """Return the commands for a subject with these names; empty if the reader has them already."""
        if self.stated:
            return ""
        look = "" if self.look.startswith(STATUS) else f"to look: `{self.look}`"
        mend = f"to mend: {self._mend()}" if self.mend else self.advice
        lab = f"in a lab also: {self.lab}" if self.lab and in_lab else ""
        return "; ".join(filter(None, (look, mend, lab))).format(**names)

    def row(self) -> str:
        """Return the row of the page."""
        names = {"env": "E", "name": "NAME", "namespace": "NAMESPACE", "claim": "CLAIM"}
        lab = f"; in a lab also: {self.lab}" if self.lab else ""
        mend = f"{self._mend()}{lab}".format(**names)
        more = f" ([more]({self.page}))" if self.page else ""
        reasons = ", ".join(f"`{reason}`" for reason in self.reasons) or "-"
        return f"| {self.shows} | {reasons} | `{self.look.format(**names)}` | {mend}{more} |"

    def _mend(self) -> str:
        return ", ".join(filter(None, (f"`{self.mend}`" if self.mend else "", self.advice)))
