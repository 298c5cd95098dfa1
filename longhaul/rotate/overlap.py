"""Rotations with overlap: a new key is trusted before it is used, and the former one until nothing signed by it is
left.

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
from components.model.secrets.rotations import STEADY, RotationStanding, parse_standings, standings_text
from components.model.secrets.vault import ROTATIONS
from longhaul.terminal.exits import CommandError
from longhaul.vault.record import unusable_error
from longhaul.vault.rotation import RotationVault

PATIENCE = timedelta(minutes=15)
"""Longest time for which a run itself waits until everything that the former key signed has expired; when more is
needed, the next run continues."""


class OfServers:
    """Base of rotations that only machines of the control plane notice."""

    @property
    def copies(self) -> timedelta:
        """Return zero: nobody has a copy of the trusted keys."""
        return timedelta(0)

    def spread(self) -> None:
        """Do nothing: nobody else trusts the key."""

    def ask_again(self) -> None:
        """Do nothing: nobody else trusts the key."""


class RotationSubject(Protocol):
    """Something that is rotated. Every method may be called again after an interruption."""

    @property
    def name(self) -> str:
        """Return the name of the rotation."""

    @property
    def learn(self) -> timedelta:
        """Return the time in which programs load a changed file."""

    @property
    def life(self) -> timedelta:
        """Return the longest validity of what the former key has signed."""

    @property
    def copies(self) -> timedelta:
        """Return the longest validity of copies of the trusted keys that nobody updates."""

    @property
    def signed(self) -> str:
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

    def hand_out(self) -> None:
        """Have machines use the keys from the vault, one after the other. Raise ``CommandError`` for the first that
        does not."""

    def spread(self) -> None:
        """Have clients outside the control plane trust the vault's keys. Raise ``CommandError`` when one does not."""

    def ask_again(self) -> None:
        """Check the clients of :meth:`spread` again, just before the new key signs: some may have been rebuilt since.
        Raise ``CommandError`` when one does not trust the keys."""

    def behind(self) -> tuple[str, ...]:
        """Return the machines that do not know yet that the rotation is over. Raise ``CommandError`` for the first that
        does not answer."""

    def end(self) -> None:
        """Remove what only the rotation needed."""


@dataclass(frozen=True, kw_only=True)
class Standings(RotationVault):
    """The vault's record of rotations with overlap."""

    def all(self) -> dict[str, RotationStanding]:
        """Return every unfinished rotation by name."""
        try:
            return parse_standings(self.get(ROTATIONS))
        except ValueError as error:
            raise unusable_error(ROTATIONS, error) from None

    def of(self, name: str) -> RotationStanding:
        """Return the progress of a rotation."""
        return self.all().get(name, STEADY)

    def set(self, name: str, standing: RotationStanding) -> None:
        """Record the progress of a rotation."""
        self.change(ROTATIONS, standings_text({**self.all(), name: standing}))


@dataclass(kw_only=True)
class Overlap:
    """One run of a rotation with overlap."""

    record: Standings
    subject: RotationSubject
    tell: Callable[[str], None]
    has_lease: Callable[[], bool] = field(default=lambda: True)
    """Returns whether this run still holds the lock."""
    clock: Callable[[], datetime] = field(default=lambda: datetime.now(tz=UTC))
    sleep: Callable[[float], None] = time.sleep

    def run(self, *, now: bool = False) -> RotationStanding:
        """Run the phases from the one that the vault records, and return the progress. With ``now``, do not wait until
        what the former key has signed expires."""
        standing = self.record.of(self.subject.name)
        if standing.phase is RotationPhase.STEADY and (behind := self.subject.behind()):
            # The last run was killed at its end: another new key would be another rotation, which nobody requested.
            # With `now` it is requested.
            self.tell(f"{', '.join(behind)}: still to use what the vault says of {self.subject.name}")
            self.subject.hand_out()
            if not now:
                self.tell("they do now. This run has made no new key: another one does")
                return standing
        if standing.phase is RotationPhase.STEADY:
            self.subject.prepare()
            standing = self._go(RotationPhase.TRUST, "a new key is made: all learn to believe it beside the former one")
        if standing.phase is RotationPhase.TRUST:
            standing = self._trust(standing)
            if not self._learnt(standing, now=now):
                return standing
            self.subject.ask_again()
            standing = self._go(RotationPhase.USE, "all believe both: from now on the new key signs")
        if standing.phase is RotationPhase.USE:
            standing = self._use(standing)
            if not self._over(standing, now=now):
                return standing
            standing = self._go(
                RotationPhase.DISTRUST, "the former key is not needed any more: nobody is to believe it"
            )
        self.subject.distrust()
        self.subject.hand_out()
        self.subject.spread()
        self._wait(self.clock() + self.subject.learn, "programs have forgotten the former key")
        self.subject.end()
        standing = self._go(RotationPhase.STEADY, f"{self.subject.name} is replaced")
        self.subject.hand_out()
        return standing

    def _trust(self, standing: RotationStanding) -> RotationStanding:
        """Have everybody trust both keys; return the progress, with the time until which old copies of the trusted keys
        are valid."""
        self.subject.trust()
        self.subject.hand_out()
        self.subject.spread()
        self._wait(self.clock() + self.subject.learn, "programs have read what is to be believed")
        if standing.until is not None or not self.subject.copies:
            return standing
        return self._until(RotationPhase.TRUST, self.subject.copies)

    def _learnt(self, standing: RotationStanding, *, now: bool) -> bool:
        """Return whether no old copy of the trusted keys is left, or the caller does not want to wait for that."""
        until = standing.until or self.clock()
        if now:
            return True
        if until - self.clock() > PATIENCE:
            self.tell(
                f"both are believed. Kubeconfigs from before live until {until:%Y-%m-%d %H:%M} UTC: run this again "
                "then, and the new key signs"
            )
            return False
        self._wait(until, "the last kubeconfig from before has ended")
        return True

    def _use(self, standing: RotationStanding) -> RotationStanding:
        """Have the new key sign everywhere; return the progress, with the time until which what the former key signed
        is valid."""
        self.subject.use()
        self.subject.hand_out()
        if standing.until is not None:
            return standing
        return self._until(RotationPhase.USE, self.subject.learn + self.subject.life)

    def _until(self, phase: RotationPhase, life: timedelta) -> RotationStanding:
        """Record the end of the phase, ``life`` from now."""
        standing = self._write(RotationStanding(phase=phase, until=self.clock() + life))
        # For `longhaul status`, which asks the servers.
        self.subject.hand_out()
        return standing

    def _over(self, standing: RotationStanding, *, now: bool) -> bool:
        """Return whether nothing signed by the former key is left, or the caller does not want to wait for that."""
        until = standing.until or self.clock()
        if now:
            self._wait(until - self.subject.life, "all show what the new key has signed")
            self.tell(f"not waiting: {self.subject.signed} of the former key stop working")
            return True
        if until - self.clock() > PATIENCE:
            self.tell(
                f"the new key signs. {self.subject.signed} of the former one live until {until:%Y-%m-%d %H:%M} UTC: "
                "run this again then, which takes it away. Until then both are believed"
            )
            return False
        self._wait(until, f"the last of {self.subject.signed} of the former key has ended")
        if why := self.subject.why_not_over(until):
            raise CommandError(f"both keys stay believed: {why}")
        return True

    def _wait(self, until: datetime, what: str) -> None:
        """Wait until a time. No event reports that programs have read a file, or that everything signed has expired."""
        left = (until - self.clock()).total_seconds()
        if left > 0:
            self.tell(f"waiting {left:.0f} s until {what}")
            self.sleep(left)

    def _go(self, phase: RotationPhase, message: str) -> RotationStanding:
        standing = self._write(RotationStanding(phase=phase))
        self.tell(message)
        return standing

    def _write(self, standing: RotationStanding) -> RotationStanding:
        """Record the progress, while this run still holds the lock."""
        if not self.has_lease():
            raise CommandError("another run has taken this rotation over: wait for its end, then run this again")
        self.record.set(self.subject.name, standing)
        return standing
