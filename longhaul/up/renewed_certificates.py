"""Distributes renewed certificates and changed issuers at once. Machines look into the vault only every ten minutes,
which is too late for an expired certificate, or for an issuer that must not be trusted any more."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from clouds.base.errors import CloudError
from clouds.registry import cloud_of
from components.model import certificates, control_machines, plan
from components.model.control_plane.machines import Role, members
from components.model.secrets.vault import ISSUERS
from components.model.sites.places import place_of
from longhaul.control_plane.node_answers import parse_answer

if TYPE_CHECKING:
    from components.model import Environment

READY_S = 30
"""Seconds that a machine gets to become ready again, before the next machine is asked."""
FETCH = f"systemctl start longhaul-secrets-refresh.service && longhaul-node ready --wait {READY_S}"
"""Command with which a machine fetches its secrets. Programs read a changed certificate by themselves; programs that
have to restart because of another secret are back before the next machine's turn."""


def distribute(environment: Environment, renewed: Collection[str], say: Callable[[str], None]) -> None:
    """Have the machines that hold a certificate named in ``renewed`` fetch it, one machine after the other. If
    ``renewed`` names the issuers, have the API servers fetch these too."""
    addresses = plan(environment)
    by_certificate = {certificate.name: certificate.holder for certificate in certificates(environment, addresses)}
    holders = {by_certificate[name] for name in renewed if name in by_certificate}
    machines = control_machines(environment, addresses)
    believing: set[str] = set()
    if f"{environment.name}-{ISSUERS}" in renewed:
        believing = {machine.name for machine in members(machines, Role.API)}
    place = place_of(environment, environment.control_plane.site)
    control = cloud_of(place.site).control
    if control is None:
        return
    for machine in machines:
        if machine.name not in holders | believing:
            continue
        what = "renewed certificates" if machine.name in holders else "changed issuers"
        try:
            output = control.run_command(place, machine.name, FETCH)
            answer = parse_answer(output.stdout, output.stderr)
            problem = answer.error
        except CloudError as error:
            problem = str(error)
        if problem:
            say(f"{machine.name} could not fetch its {what} ({problem}); it tries every ten minutes")
        else:
            say(f"{machine.name} has its {what}" + ("" if answer.ready else f"; {answer.reason}"))
