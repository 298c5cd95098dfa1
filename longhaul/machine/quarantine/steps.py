"""The steps of a quarantine, and of its end.

The list in the vault is written first: from then on the machine is refused wherever the list is read, whatever
interrupts this run. Its disk is kept and it is cut off next, by its cloud alone: no silent API server holds it up, and
nothing in the cluster warns whoever is on it. A cloud that refuses holds up nothing but its replacement. Each later
step may be repeated, so the next run does them all again."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from clouds.base.errors import CloudError
from clouds.base.phrases import counted
from components.model.access.quarantine import Quarantined, moment
from longhaul.control_plane import denials
from longhaul.machine.quarantine import node
from longhaul.terminal.exits import CommandError, Exit

if TYPE_CHECKING:
    from contract.kubernetes.api import Api
    from longhaul.machine.quarantine.target import PoolMachine
    from longhaul.vault.quarantine import QuarantineVault


@dataclass(frozen=True, kw_only=True)
class QuarantineRun:
    """One run."""

    record: QuarantineVault
    api: Api
    tell: Callable[[str], None]
    now: Callable[[], datetime]
    held: Callable[[], bool]
    """Tells whether this run is still the only one."""
    turn: Callable[[], AbstractContextManager[None]]
    """Gives the turn of whoever starts API servers anew; ``CommandError`` while somebody else has it."""
    keep_disk: bool = True
    """False to replace a machine whose disk its cloud does not keep."""

    def quarantine(self, entry: Quarantined, machine: PoolMachine | None) -> Quarantined:
        """Carry out every step, and return the entry of the list; ``machine`` is None for a host, and for one
        that is gone."""
        name = entry.name
        self._write(entry)
        self.tell(f"{name} is in the list of machines in quarantine")
        entry, refused = self._cut_off(entry, machine)
        denials.hand_out(self.record, self.record.read().names, tell=self.tell)
        # From here on nobody writes its Node with its certificate.
        node.close(self.api, name)
        # Until now an API server may have renewed its certificate, which lives on from then.
        entry = replace(entry, since=moment(self.now()))
        self._write(entry)
        pods = node.remove(self.api, name)
        self.tell(f"{counted(pods, 'pod')} and its Node deleted: the pods' tokens are void")
        if machine is not None and refused is None:
            machine.cloud.replace(machine.place, machine.suspect)
            self.tell(f"{machine.suspect.group} makes another machine")
        with self.turn():
            denials.end_connections(self.record, tell=self.tell)
        if refused is not None:
            raise refused
        entry = replace(entry, done=True)
        self._write(entry)
        return entry

    def release(self, entry: Quarantined, machine: PoolMachine | None) -> Quarantined:
        """Delete what is kept of a machine. Its name stays refused as long as its certificates may be valid."""
        self.refuse_release(entry)
        if machine is not None and entry.kept:
            machine.cloud.release(machine.place, entry.kept)
            self.tell(f"{', '.join(entry.kept)} deleted")
        entry = replace(entry, released=moment(self.now()), kept=(), done=True)
        self._write(entry)
        denials.hand_out(self.record, self.record.read().names, tell=self.tell)
        return entry

    def refuse_release(self, entry: Quarantined) -> None:
        """Raise ``CommandError`` for a machine that may still run as before, or a host whose name is refused yet."""
        if not entry.done:
            raise CommandError(
                f"the quarantine of {entry.name} is half done, so its machine may run on, and others may serve it: "
                f"`longhaul machine quarantine --env {self.record.environment.name} {entry.name}` goes on, and has to "
                "be at its end first, so nothing was done",
                code=Exit.REFUSED,
            )
        until = entry.refused_until()
        if not (entry.machine or entry.gone) and self.now() < until:
            raise CommandError(
                f"{entry.name} is refused until {moment(until)}, since its stolen certificate may be valid as long "
                "and has its name. To let the host back in before, install it anew and give it another name in the "
                "hosts file, so nothing was done",
                code=Exit.REFUSED,
            )

    def _cut_off(self, entry: Quarantined, machine: PoolMachine | None) -> tuple[Quarantined, CloudError | None]:
        """Keep a machine's disk, then cut it off: whoever is on it notices that, and may end it. Return the entry, and
        what its cloud refused: neither holds up that the API servers refuse the machine, which is replaced by a
        later run only, when its disk is kept."""
        refused: CloudError | None = None
        if machine is None:
            return entry, refused
        if self.keep_disk:
            try:
                entry = replace(entry, kept=machine.cloud.keep(machine.place, machine.suspect) or entry.kept)
                self._write(entry)
                self.tell(f"kept: {', '.join(entry.kept) or 'nothing, since its machine has ended'}")
            except CloudError as error:
                refused = error
                self.tell(f"the disk of {entry.name} is not kept yet: {error}")
        try:
            machine.cloud.isolate(machine.place, machine.suspect)
            self.tell(f"{entry.name} is cut off")
        except CloudError as error:
            refused = error
            self.tell(f"{entry.name} is not cut off yet: {error}")
        return entry, refused

    def _write(self, entry: Quarantined) -> None:
        """Write the entry into the list, and leave out those that are no longer needed."""
        if not self.held():
            raise CommandError("another run has taken this quarantine over: wait for its end, then run this again")
        self.record.write(self.record.read().with_(entry).pruned(self.now()))
