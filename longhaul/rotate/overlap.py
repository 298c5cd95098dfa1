"""Rotations with overlap: a new key is trusted before it is used, and the former key is trusted until nothing that it
signed is left.

Each phase is recorded in the vault before it is carried out, and every step may be repeated. So after any interruption,
the next run reads the phase and continues.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Protocol

from components.model.secrets.encryption_keys import RotationPhase
from components.model.secrets.rotations import STEADY, RotationProgress, parse_progress, progress_text
from components.model.secrets.vault import ROTATIONS
from longhaul.terminal.exits import CommandError
from longhaul.vault.record import unusable_error
from longhaul.vault.rotation import RotationVault

PATIENCE = timedelta(minutes=15)
"""Longest time that a run itself waits for an expiry. If the expiry is later, the run ends at once, and another run
continues."""


class ServerSubject:
    """Base of rotations that only machines of the control plane notice."""

    @property
    def copy_lifetime(self) -> timedelta:
        """Return zero: nobody has a copy of the trusted keys."""
        return timedelta(0)

    def distribute_further(self) -> None:
        """Do nothing: nobody else trusts the key."""

    def ask_again(self) -> None:
        """Do nothing: nobody else trusts the key."""


class RotationSubject(Protocol):
    """Something that is rotated. Every method may be called again after an interruption."""

    @property
    def name(self) -> str:
        """Return the name of the rotation."""

    @property
    def reload_time(self) -> timedelta:
        """Return the time in which programs load a changed file."""

    @property
    def signed_lifetime(self) -> timedelta:
        """Return the longest validity of what the former key has signed."""

    @property
    def copy_lifetime(self) -> timedelta:
        """Return the longest validity of copies of the trusted keys that nobody updates."""

    @property
    def signed_words(self) -> str:
        """Return a description of what the former key has signed."""

    def prepare(self) -> None:
        """Put a new key into the vault, unless it is already there."""

    def trust(self) -> None:
        """Record in the vault that both keys are trusted."""

    def use(self) -> None:
        """Record in the vault that the new key signs, and reissue what the vault stores with the former key's
        signature."""

    def why_not_over(self, until: datetime) -> str:
        """Return why the former key is still needed after ``until``; empty when it is not."""

    def distrust(self) -> None:
        """Record in the vault that only the new key is trusted."""

    def distribute(self) -> None:
        """Have machines use the keys from the vault, one machine after the other. Raise ``CommandError`` for the first
        machine that does not."""

    def distribute_further(self) -> None:
        """Have clients outside the control plane trust the vault's keys. Raise ``CommandError`` when a client does
        not."""

    def ask_again(self) -> None:
        """Check the clients of :meth:`distribute_further` again, just before the new key signs: some may have been
        rebuilt since. Raise ``CommandError`` when a client does not trust the keys."""

    def outdated_machines(self) -> tuple[str, ...]:
        """Return the machines that do not know yet that the rotation is over. Raise ``CommandError`` for the first
        machine that does not answer."""

    def end(self) -> None:
        """Remove what only the rotation needed."""


@dataclass(frozen=True, kw_only=True)
class RotationStore(RotationVault):
    """The vault's record of rotations with overlap."""

    def all(self) -> dict[str, RotationProgress]:
        """Return every unfinished rotation by name."""
        try:
            return parse_progress(self.get(ROTATIONS))
        except ValueError as error:
            raise unusable_error(ROTATIONS, error) from None

    def of(self, name: str) -> RotationProgress:
        """Return the progress of a rotation."""
        return self.all().get(name, STEADY)

    def set(self, name: str, standing: RotationProgress) -> None:
        """Record the progress of a rotation."""
        self.change(ROTATIONS, progress_text({**self.all(), name: standing}))


@dataclass(kw_only=True)
class Overlap:
    """One run of a rotation with overlap."""

    record: RotationStore
    subject: RotationSubject
    tell: Callable[[str], None]
    has_lease: Callable[[], bool] = field(default=lambda: True)
    """Returns whether this run still holds the lock."""
    clock: Callable[[], datetime] = field(default=lambda: datetime.now(tz=UTC))
    sleep: Callable[[float], None] = time.sleep

    def run(self, *, now: bool = False) -> RotationProgress:
        """Run the phases from the phase that the vault records, and return the progress. With ``now``, do not wait for
        the expiry of what the former key has signed."""
        standing = self.record.of(self.subject.name)
        if standing.phase is RotationPhase.STEADY and (behind := self.subject.outdated_machines()):
            # The last run was killed at its end: another new key would be another rotation, which nobody requested.
            # With `now` it is requested.
            self.tell(f"{', '.join(behind)}: waiting until they use the vault's keys of {self.subject.name}")
            self.subject.distribute()
            if not now:
                self.tell("they do now. This run has made no new key: another run does")
                return standing
        if standing.phase is RotationPhase.STEADY:
            self.subject.prepare()
            standing = self._go(
                RotationPhase.TRUST, "a new key is made: all programs learn to trust it beside the former one"
            )
        if standing.phase is RotationPhase.TRUST:
            standing = self._trust(standing)
            if not self._learnt(standing, now=now):
                return standing
            self.subject.ask_again()
            standing = self._go(RotationPhase.USE, "all trust both: from now on the new key signs")
        if standing.phase is RotationPhase.USE:
            standing = self._use(standing)
            if not self._over(standing, now=now):
                return standing
            standing = self._go(RotationPhase.DISTRUST, "the former key is no longer needed: programs stop trusting it")
        self.subject.distrust()
        self.subject.distribute()
        self.subject.distribute_further()
        self._wait(self.clock() + self.subject.reload_time, "programs have forgotten the former key")
        self.subject.end()
        standing = self._go(RotationPhase.STEADY, f"{self.subject.name} is replaced")
        self.subject.distribute()
        return standing

    def _trust(self, standing: RotationProgress) -> RotationProgress:
        """Have everybody trust both keys; return the progress, with the time until which old copies of the trusted keys
        are valid."""
        self.subject.trust()
        self.subject.distribute()
        self.subject.distribute_further()
        self._wait(self.clock() + self.subject.reload_time, "programs have loaded the trusted keys")
        if standing.until is not None or not self.subject.copy_lifetime:
            return standing
        return self._until(RotationPhase.TRUST, self.subject.copy_lifetime)

    def _learnt(self, standing: RotationProgress, *, now: bool) -> bool:
        """Return whether no old copy of the trusted keys is left. With ``now``, return True without waiting for
        that."""
        until = standing.until or self.clock()
        if now:
            return True
        if until - self.clock() > PATIENCE:
            self.tell(
                f"both are trusted. Older kubeconfigs are valid until {until:%Y-%m-%d %H:%M} UTC: run this again "
                "then, and the new key signs"
            )
            return False
        self._wait(until, "the last older kubeconfig has expired")
        return True

    def _use(self, standing: RotationProgress) -> RotationProgress:
        """Have the new key sign everywhere; return the progress, with the time at which everything that the former key
        signed has expired."""
        self.subject.use()
        self.subject.distribute()
        if standing.until is not None:
            return standing
        return self._until(RotationPhase.USE, self.subject.reload_time + self.subject.signed_lifetime)

    def _until(self, phase: RotationPhase, life: timedelta) -> RotationProgress:
        """Record the end of the phase, ``life`` from now."""
        standing = self._write(RotationProgress(phase=phase, until=self.clock() + life))
        # For `longhaul status`, which asks the servers.
        self.subject.distribute()
        return standing

    def _over(self, standing: RotationProgress, *, now: bool) -> bool:
        """Return whether nothing signed by the former key is left. With ``now``, return True without waiting for
        that."""
        until = standing.until or self.clock()
        if now:
            self._wait(until - self.subject.signed_lifetime, "all programs present what the new key has signed")
            self.tell(f"not waiting: {self.subject.signed_words} of the former key stop working")
            return True
        if until - self.clock() > PATIENCE:
            self.tell(
                f"the new key signs. {self.subject.signed_words} of the former key are valid until "
                f"{until:%Y-%m-%d %H:%M} UTC: run this again then to remove it. Until then both are trusted"
            )
            return False
        self._wait(until, f"the last of {self.subject.signed_words} of the former key has expired")
        if why := self.subject.why_not_over(until):
            raise CommandError(f"both keys stay trusted: {why}")
        return True

    def _wait(self, until: datetime, what: str) -> None:
        """Wait until a time. No event reports that programs have read a file, or that everything signed has expired."""
        left = (until - self.clock()).total_seconds()
        if left > 0:
            self.tell(f"waiting {left:.0f} s until {what}")
            self.sleep(left)

    def _go(self, phase: RotationPhase, message: str) -> RotationProgress:
        standing = self._write(RotationProgress(phase=phase))
        self.tell(message)
        return standing

    def _write(self, standing: RotationProgress) -> RotationProgress:
        """Record the progress, while this run still holds the lock."""
        if not self.has_lease():
            raise CommandError("another run has taken over this rotation: wait for its end, then run this again")
        self.record.set(self.subject.name, standing)
        return standing
