"""The list of people whose access was revoked, in the environment's vault, and the rules for people's names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from components.model.secrets.vault import REVOKED
from components.model.vpn.section import OPERATOR
from contract.documents.revoked import Revoked, is_name
from longhaul.cluster.identity import control_access
from longhaul.terminal.exits import CommandError, Exit
from longhaul.vault.record import VaultRecord, unusable_error

if TYPE_CHECKING:
    from collections.abc import Callable

    from components.model import Environment


class PeopleVault(VaultRecord):
    """The part of an environment's vault that stores people's access."""

    def read(self) -> Revoked:
        """Return the list."""
        text = self.text(REVOKED)
        if text is None:
            env = self.environment.name
            raise CommandError(
                f"the vault of {env} has no {REVOKED} yet, so no API server would refuse a person: `longhaul up --env "
                f"{env} --only infrastructure` makes both"
            )
        try:
            return Revoked.parse(text)
        except ValueError as error:
            raise unusable_error(REVOKED, error) from None

    def change(self, by: Callable[[Revoked], Revoked]) -> bool:
        """Change the list; return whether that made a difference."""
        before = self.read()
        after = by(before)
        if after == before:
            return False
        try:
            text = after.text()
        except ValueError as error:
            raise CommandError(
                f"the list of people whose access was revoked is full: {error}. `longhaul access restore` removes "
                "people who can no longer get a token of their company"
            ) from None
        self.write_text(REVOKED, text)
        return True


def people_of(environment: Environment) -> PeopleVault:
    """Return the list of an environment. Raise ``CommandError`` when its control plane's cloud has no vault."""
    place, control = control_access(environment)
    return PeopleVault(control=control, place=place, environment=environment)


def require_person(environment: Environment, name: str) -> None:
    """Raise ``CommandError`` for a name that nobody can have, neither a person who signs in nor an operator in the VPN.
    The revocation of such a name would refuse nobody."""
    if environment.vpn and name.startswith(OPERATOR) and is_name(name):
        return
    prefixes = [issuer.username.prefix for issuer in environment.identity.issuers.values()]
    prefix = f"{name.partition(':')[0]}:"
    if not prefixes:
        reason = f"{environment.name} has no issuers (`identity` of its file), so nobody signs in"
    elif prefix not in prefixes:
        likely = ", ".join(f"{issuer_prefix}{name}" for issuer_prefix in prefixes)
        reason = f"{name!r} can be nobody's name: names begin with their issuer's prefix, like {likely}"
    elif not is_name(name):
        reason = (
            f"{name!r} is not a name that can be refused: such names have only printable ASCII, without spaces, "
            "quotation marks, $"
        )
    else:
        return
    raise CommandError(
        f"{reason}, so nothing was done. The audit log has everybody's name (user.username)", code=Exit.USAGE
    )
