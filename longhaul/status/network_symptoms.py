"""Symptoms of gateways, and of the links between sites."""

from __future__ import annotations

from collections.abc import Sequence

from contract.reasons.status import StatusReason
from longhaul.status.symptom import Symptom, SymptomSubject

_LAB = (
    "`python -m lab status --env {env}` names what is cut, and `python -m lab tunnel CUT restore --env {env}` restores "
    "it"
)

LINKS: Sequence[Symptom] = (
    Symptom(
        shows="a gateway's strongSwan or firewall does not run",
        look="longhaul shell --env {env} {name} -- systemctl status strongswan longhaul-gateway-firewall",
        mend="longhaul hosts --env {env} --limit {name}",
        subject=SymptomSubject.GATEWAY,
        reasons=(StatusReason.CHECKS_FAILED,),
    ),
    Symptom(
        shows="a link to a rack is down",
        look="longhaul hosts --env {env} --preflight --limit gateways",
        mend="longhaul hosts --env {env} --limit gateways",
        advice="and first the gateway that is `unhealthy`, by the command in its row",
        lab=_LAB,
        page="network.md#a-link-is-down",
        subject=SymptomSubject.RACK_LINK,
        reasons=(StatusReason.TUNNELS_DOWN,),
    ),
    Symptom(
        shows="a link between two clouds is down",
        look="longhaul plan --env {env}",
        mend="longhaul up --env {env} --only infrastructure",
        advice="if `plan` shows a change of a gateway or a connection, or if the link is still down after ten minutes; "
        "a cloud's maintenance of its gateway ends by itself",
        lab=_LAB,
        page="network.md#a-link-is-down",
        subject=SymptomSubject.CLOUD_LINK,
        reasons=(StatusReason.TUNNELS_DOWN,),
    ),
)
