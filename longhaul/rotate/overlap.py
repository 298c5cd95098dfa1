"""Rotations with overlap: a new key is believed before it is used, and the former one until nothing of it is left.

Each phase is written into the vault before it is carried out, and every step may be repeated: whatever interrupts a
rotation, the next run reads the phase and goes on.
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
from longhaul.vault.record import unusable
from longhaul.vault.rotation import RotationVault

PATIENCE = timedelta(minutes=15)
"""Longest time that a run itself waits for what the former key has signed to end; the next run goes on after a longer
one."""


class OfServers:
    """Base of subjects that machines of the control plane alone know."""

    @property
    def copies(self) -> timedelta:
        """Longest life of copies of what is believed: nobody has one."""
        return timedelta(0)

    def spread(self) -> None:
        """Do nothing: nobody else believes it."""

    def ask_again(self) -> None:
        """Do nothing: the same."""


class RotationSubject(Protocol):
    """Subject of a rotation. Every method may be called again after it was interrupted."""

    @property
    def name(self) -> str:
        """Name of the rotation."""

    @property
    def learn(self) -> timedelta:
        """Time in which programs read a file that has changed."""

    @property
    def life(self) -> timedelta:
        """Longest life of what the former key has signed."""

    @property
    def copies(self) -> timedelta:
        """Longest life of copies of what is believed, which nobody makes anew."""

    @property
    def signed(self) -> str:
        """Words for things that the former key has signed."""

    def prepare(self) -> None:
        """Put a new key into the vault, unless it is there."""

    def trust(self) -> None:
        """Have the vault say that both are believed."""

    def use(self) -> None:
        """Have the vault say that the new one signs, and make anew what the vault keeps of the former one."""

    def why_not_over(self, until: datetime) -> str:
        """Return why the former one is needed after ``until``; empty when it is not."""

    def distrust(self) -> None:
        """Have the vault say that the new one alone is believed."""

    def hand_out(self) -> None:
        """Have machines use what the vault says, one after the other; ``CommandError`` for the first that does not."""

    def spread(self) -> None:
        """Have those believe what the vault says who are no machines of the control plane; ``CommandError`` when one
        does not."""

    def ask_again(self) -> None:
        """Do nothing when those of :meth:`spread` believe it still, just before the new one signs: some may have been
        made anew since. ``CommandError`` when one does not."""

    def behind(self) -> tuple[str, ...]:
        """Return the machines that have not learnt yet that the rotation is over; ``CommandError`` for the first that
        does not tell."""

    def end(self) -> None:
        """Take away what only the rotation needed."""


@dataclass(frozen=True, kw_only=True)
class Standings(RotationVault):
    """The record of rotations with overlap."""

    def all(self) -> dict[str, RotationStanding]:
        """Return every rotation that is not over."""
        try:
            return parse_standings(self.get(ROTATIONS))
        except ValueError as error:
            raise unusable(ROTATIONS, error) from None

    def of(self, name: str) -> RotationStanding:
        """Return how far a rotation is."""
        return self.all().get(name, STEADY)

    def set(self, name: str, standing: RotationStanding) -> None:
        """Record how far a rotation is."""
        self.change(ROTATIONS, standings_text({**self.all(), name: standing}))


@dataclass(kw_only=True)
class Overlap:
    """One run."""

    record: Standings
    subject: RotationSubject
    tell: Callable[[str], None]
    has_lease: Callable[[], bool] = field(default=lambda: True)
    """Tells whether this run is still the only one."""
    clock: Callable[[], datetime] = field(default=lambda: datetime.now(tz=UTC))
    sleep: Callable[[float], None] = time.sleep

    def run(self, *, now: bool = False) -> RotationStanding:
        """Carry out the phases from where the vault says that the rotation is, and return how far it is then. ``now``
        does not wait until what the former key has signed ends."""
        standing = self.record.of(self.subject.name)
        if standing.phase is RotationPhase.STEADY and (behind := self.subject.behind()):
            # A run was killed at its end: a further key would be another rotation, which nobody has asked for. Who does
            # not wait has asked for one.
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
        """Have everybody believe both, and return until when copies of what was believed before may live."""
        self.subject.trust()
        self.subject.hand_out()
        self.subject.spread()
        self._wait(self.clock() + self.subject.learn, "programs have read what is to be believed")
        if standing.until is not None or not self.subject.copies:
            return standing
        return self._until(RotationPhase.TRUST, self.subject.copies)

    def _learnt(self, standing: RotationStanding, *, now: bool) -> bool:
        """Return whether no copy of what was believed before is left, or nobody is to wait for that."""
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
        """Have the new key sign everywhere, and return until when what the former one has signed may live."""
        self.subject.use()
        self.subject.hand_out()
        if standing.until is not None:
            return standing
        return self._until(RotationPhase.USE, self.subject.learn + self.subject.life)

    def _until(self, phase: RotationPhase, life: timedelta) -> RotationStanding:
        """Record until when the phase lasts."""
        standing = self._write(RotationStanding(phase=phase, until=self.clock() + life))
        # For `longhaul status`, which asks the servers.
        self.subject.hand_out()
        return standing

    def _over(self, standing: RotationStanding, *, now: bool) -> bool:
        """Return whether nothing of the former key is left, or nobody is to wait for that."""
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
        """Wait until a time; nothing tells when programs have read a file, or that nothing signed is left."""
        left = (until - self.clock()).total_seconds()
        if left > 0:
            self.tell(f"waiting {left:.0f} s until {what}")
            self.sleep(left)

    def _go(self, phase: RotationPhase, message: str) -> RotationStanding:
        standing = self._write(RotationStanding(phase=phase))
        self.tell(message)
        return standing

    def _write(self, standing: RotationStanding) -> RotationStanding:
        """Record how far the rotation is, if no other run may have."""
        if not self.has_lease():
            raise CommandError("another run has taken this rotation over: wait for its end, then run this again")
        self.record.set(self.subject.name, standing)
        return standing
