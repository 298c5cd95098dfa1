"""The list of machines in quarantine, in the environment's vault."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from clouds.registry import cloud_of
from components.model.secrets.vault import QUARANTINE
from components.model.sites.places import place_of
from contract.documents.quarantine import Quarantine
from longhaul.terminal.exits import CommandError, Exit
from longhaul.vault.record import VaultRecord, unusable_error

if TYPE_CHECKING:
    from components.model import Environment


class QuarantineVault(VaultRecord):
    """The part of an environment's vault that stores its quarantine."""

    def read(self) -> Quarantine:
        """Return the list."""
        quarantine = self.find()
        if quarantine is None:
            env = self.environment.name
            raise CommandError(
                f"the vault of {env} has no {QUARANTINE} yet, so no API server would refuse a machine: `longhaul up "
                f"--env {env} --only infrastructure` makes both"
            )
        return quarantine

    def find(self) -> Quarantine | None:
        """Return the list; None when ``longhaul up`` has not made it yet."""
        text = self.text(QUARANTINE)
        if text is None:
            return None
        try:
            return Quarantine.parse(text)
        except ValueError as error:
            raise unusable_error(QUARANTINE, error) from None

    def write(self, quarantine: Quarantine) -> None:
        """Write the list."""
        try:
            text = quarantine.text()
        except ValueError as error:
            raise CommandError(f"the vault's secret {QUARANTINE} cannot be written: {error}") from None
        self.write_text(QUARANTINE, text)


def record_of(environment: Environment) -> QuarantineVault:
    """Return the record of an environment. Raise ``CommandError`` when the control plane's cloud does not support
    quarantine yet."""
    place = place_of(environment, environment.control_plane.site)
    control = cloud_of(place.site).control
    if control is None:
        reason = f"the control plane is on {place.site.kind}, where no machine can be put into quarantine yet"
        raise CommandError(reason, code=Exit.USAGE)
    return QuarantineVault(control=control, place=place, environment=environment)


def has_list(state: Mapping[str, Any]) -> bool:
    """Return whether a stack's state contains the vault's list. An interrupted destruction may have deleted the list,
    and then the access to the vault."""
    made = ((str(resource.get("type", "")), resource.get("id")) for resource in state.get("resources") or ())
    return any(kind.startswith("pulumi-python:dynamic") and id_ == QUARANTINE for kind, id_ in made)


def refuse_kept(environment: Environment) -> None:
    """Refuse to destroy an environment that keeps machines in quarantine, or may keep some: they would be lost, or
    block the deletion of their network. Do not call this when the list was never made or is already deleted
    (:func:`has_list`)."""
    try:
        quarantine = record_of(environment).find()
    except CommandError as error:
        raise CommandError(
            f"{error}. So nothing was destroyed: {environment.name} may keep machines in quarantine, which would be "
            "lost with it. Run this again where the vault answers, as somebody who may read it",
            code=Exit.UNREACHABLE if error.code is Exit.UNREACHABLE else Exit.REFUSED,
        ) from None
    if quarantine is not None and quarantine.unreleased:
        env, names = environment.name, [machine.name for machine in quarantine.unreleased]
        raise CommandError(
            f"{', '.join(names)} {'are' if len(names) > 1 else 'is'} in quarantine, and the kept disks would be lost "
            f"with {env}, so nothing was done: `longhaul machine quarantine --env {env} NAME --release` releases them",
            code=Exit.REFUSED,
        )
