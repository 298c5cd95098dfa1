"""Refuses sizes of VPN gateways that their cloud does not give an existing gateway."""

from __future__ import annotations

from collections.abc import Iterator

from clouds.base.findings import Severity
from clouds.registry import cloud_of, clouds
from contract.reasons.plan import PlanReason
from longhaul.judgement.case import Case
from longhaul.judgement.changes import ResourceAction
from longhaul.judgement.finding import PlanFinding

_DO = (
    "Take that back. To have the size nevertheless, make the gateway anew in two runs. First declare the site's "
    "tunnels as circuits (`links`, kind existing) and run `longhaul up`, which deletes the gateway and its address: "
    "the site is cut off. Then take these links away, write the size, and run `longhaul up` again, which takes 45 "
    "minutes or more; for racks also `longhaul hosts`."
)


def refused_resizes(case: Case) -> Iterator[PlanFinding]:
    """Yield a finding for each VPN gateway whose new size its cloud refuses. With a state, its gateways decide;
    without one, the earlier file decides."""
    for where, why in (*_in_state(case), *_in_files(case)):
        yield PlanFinding(
            severity=Severity.PROBLEM,
            reason=PlanReason.RESIZE_REFUSED,
            what=f"The VPN gateway of {where} would get a size that it cannot get.",
            where=(f"sites.{where}.vpn_gateway_size",),
            why=f"{why} `up` would end in the middle.",
            do=_DO,
        )


def _in_state(case: Case) -> Iterator[tuple[str, str]]:
    for change in case.changes:
        if change.action is ResourceAction.CHANGE:
            for cloud in clouds().values():
                if why := cloud.resources.refusal(change.type, change.before, change.after):
                    yield case.places.of(change).site, why


def _in_files(case: Case) -> Iterator[tuple[str, str]]:
    if case.base is None or not case.stateless:
        return
    for name, site in case.after.sites.items():
        before = case.base.sites.get(name)
        same = before is not None and before.kind == site.kind
        if same and (why := cloud_of(site).tunnels.resize_refusal(before, site)):
            yield name, why
