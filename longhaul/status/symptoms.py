"""Symptoms: each with the command that looks, and the command that mends. ``status`` names them beside a verdict, and
docs/symptoms.md shows all of them; these tables are the only place for either."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Protocol, TypeVar

from clouds.base.findings import Severity
from contract.reasons.status import StatusReason
from longhaul.report.status_verdict import StatusVerdict
from longhaul.status.control_plane_symptoms import API, ETCD, MACHINES
from longhaul.status.key_symptoms import KEYS
from longhaul.status.network_symptoms import LINKS
from longhaul.status.node_symptoms import NODES
from longhaul.status.symptom import Symptom, SymptomSubject
from longhaul.status.workload_symptoms import ADDONS, PODS

GROUPS: Mapping[str, Sequence[Symptom]] = {
    "The control plane": (*MACHINES, *ETCD, *API),
    "Nodes, hosts and pools": NODES,
    "Gateways and links": LINKS,
    "Add-ons and names": ADDONS,
    "Pods": PODS,
    "Rotations and quarantine": KEYS,
}
"""All symptoms, by the headings of the page. Of several symptoms of a subject with the same reason, the first counts
whose words are in the message."""

SYMPTOMS: Sequence[Symptom] = tuple(symptom for symptoms in GROUPS.values() for symptom in symptoms)

NO_FAULTS: Mapping[StatusReason, str] = {
    StatusReason.READY: "it works",
    StatusReason.NOT_OBSERVED: "it was not asked, or did not answer; the message says why",
    StatusReason.UNREACHABLE_FROM_HERE: "the other ends of its tunnels see it work",
    StatusReason.NO_GPUS: "a lab's machines have none",
    StatusReason.BEING_MADE: "its cloud is making it",
    StatusReason.JOINING: "it is younger than 15 minutes",
    StatusReason.ROTATING: "a rotation is in progress; the message says how it continues",
    StatusReason.QUARANTINED: "it is in quarantine, as it should be; the message says how that ends",
}
"""Reasons that need no symptom, each with the cause."""


class Part(Protocol):
    """A judged part of the environment."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def verdict(self) -> StatusVerdict:
        """Verdict."""

    @property
    def reason(self) -> StatusReason:
        """Reason of the verdict."""

    @property
    def message(self) -> str:
        """Sentence."""


JudgedPart = TypeVar("JudgedPart", bound=Part)


def symptom_of(subject: SymptomSubject, reason: StatusReason, message: str = "") -> Symptom | None:
    """Return the symptom of a subject with that reason and message."""
    return next((item for item in SYMPTOMS if item.is_symptom_of(subject, reason, message)), None)


def advised(part: JudgedPart, env: str, *subjects: SymptomSubject, in_lab: bool = False) -> JudgedPart:
    """Return a part whose message names the commands for its reason, unless nothing is wrong. The first of the subjects
    that has the reason counts. A part without a name of its own is the only one of its kind."""
    candidates = (symptom_of(subject, part.reason, part.message) for subject in subjects)
    symptom = next(filter(None, candidates), None)
    if symptom is None or part.verdict.severity in (Severity.OK, Severity.UNKNOWN):
        return part
    sentence = symptom.sentence(env=env, name=getattr(part, "name", ""), in_lab=in_lab)
    return replace(part, message="; ".join(filter(None, (part.message, sentence))))


def table() -> str:
    """Return the tables of docs/symptoms.md."""
    head = ("| What one sees | Reason | To look | To mend |", "|---|---|---|---|")
    return "\n\n".join(
        "\n".join((f"## {title}", "", *head, *(symptom.row() for symptom in symptoms)))
        for title, symptoms in GROUPS.items()
    )
