"""Judges the gateways of on-premises sites. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from components.model import plan
from components.model.network.links import links
from contract.reasons.status import StatusReason
from longhaul.racks.inventory import GATEWAYS, OnpremMachine, machines
from longhaul.report.status_verdict import StatusVerdict
from longhaul.status.observed import Observed

if TYPE_CHECKING:
    from components.model import Environment


@dataclass(frozen=True, kw_only=True)
class GatewayStatus:
    """Verdict on one gateway."""

    name: str
    site: str
    address: str
    """Public address, at which it was asked."""
    verdict: StatusVerdict
    reason: StatusReason
    message: str


def judge_gateways(environment: Environment, observed: Observed, *, inside: bool = False) -> tuple[GatewayStatus, ...]:
    """Judge every gateway by its answers over SSH, and by its site's tunnels. ``inside`` means that it should be
    reachable from here."""
    listed = machines(environment, plan(environment))
    return tuple(
        _gateway(environment, machine, observed, inside=inside) for machine in listed if machine.group == GATEWAYS
    )


def _gateway(environment: Environment, machine: OnpremMachine, observed: Observed, *, inside: bool) -> GatewayStatus:
    verdict, reason, message = _judge(environment, machine, observed, inside=inside)
    return GatewayStatus(
        name=machine.name,
        site=machine.site,
        address=str(machine.reached_at),
        verdict=verdict,
        reason=reason,
        message=message,
    )


def _judge(
    environment: Environment, machine: OnpremMachine, observed: Observed, *, inside: bool
) -> tuple[StatusVerdict, StatusReason, str]:
    knock = observed.ssh_probes.get(machine.name)
    if knock is None or knock.reached is None:
        message = f"it was not asked: {knock.reason if knock else 'there are too many'}"
        return StatusVerdict.UNKNOWN, StatusReason.NOT_OBSERVED, message
    if knock.troubles:
        return StatusVerdict.UNHEALTHY, StatusReason.CHECKS_FAILED, "; ".join(knock.troubles)
    if knock.reached and knock.reason:
        return StatusVerdict.UNKNOWN, StatusReason.NOT_OBSERVED, f"it answers, but reports no more: {knock.reason}"
    if knock.reached:
        return StatusVerdict.OK, StatusReason.READY, "its services run"
    if not inside and _carries(environment, machine.site, observed):
        return (
            StatusVerdict.UNKNOWN,
            StatusReason.UNREACHABLE_FROM_HERE,
            f"all tunnels of {machine.site} are up, but from here it does not answer: {knock.reason}",
        )
    message = f"it does not answer over SSH: {knock.reason}"
    return StatusVerdict.UNREACHABLE, StatusReason.NO_ANSWER, message


def _carries(environment: Environment, site: str, observed: Observed) -> bool:
    """Return whether the other ends of a site's tunnels report that all tunnels are up: then the site's gateways work,
    and are only unreachable from here."""
    mine = {link.name for link in links(environment) if site in (link.first, link.second)}
    ends = [view for view in observed.tunnels if view.link in mine]
    return bool(ends) and all(view.up for view in ends)
