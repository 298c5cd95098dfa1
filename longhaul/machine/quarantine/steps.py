"""The steps of a quarantine, and of its end.

The list in the vault is written first: from then on, every reader of the list refuses the machine, even if this run is
interrupted. Next, the machine's disk is kept and the machine is isolated, both by its cloud alone. So an API server
that does not answer cannot delay these two steps, and nothing in the cluster warns an attacker on the machine. A cloud
that refuses delays only the replacement. Each later step may be repeated, so the next run repeats them all.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from clouds.base.errors import CloudError
from clouds.base.phrases import counted
from contract.documents.quarantine import Quarantined, format_time
from longhaul.control_plane import refusal_lists
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
    has_lease: Callable[[], bool]
    """Returns whether this run still holds the lock."""
    turn: Callable[[], AbstractContextManager[None]]
    """Returns the lock for restarting API servers; raises ``CommandError`` while another run holds it."""
    pause: Callable[[float], None]
    """Waits a number of seconds."""
    keep_disk: bool = True
    """False to replace a machine even though its cloud does not keep the disk."""

    def quarantine(self, entry: Quarantined, machine: PoolMachine | None) -> Quarantined:
        """Run every step, and return the entry of the list. ``machine`` is None for a host, and for a machine that no
        longer exists."""
        name = entry.name
        self._write(entry)
        self.tell(f"{name} is in the list of machines in quarantine")
        entry, refused = self._cut_off(entry, machine)
        refusal_lists.distribute(self.record, self.record.read().names, tell=self.tell)
        # From here on nobody can write its Node with its certificate.
        node.keep_pods_off(self.api, name)
        # Until now an API server may have renewed its certificate, whose validity counts from that moment.
        entry = replace(entry, since=format_time(self.now()))
        self._write(entry)
        entry = self._remove_node(entry)
        if machine is not None and refused is None:
            machine.cloud.replace(machine.place, machine.suspect)
            self.tell(f"{machine.suspect.group} makes another machine")
        with self.turn():
            refusal_lists.end_connections(self.record, tell=self.tell)
        if refused is not None:
            raise refused
        self._await_tokens(entry)
        entry = replace(entry, done=True)
        self._write(entry)
        return entry

    def release(self, entry: Quarantined, machine: PoolMachine | None) -> Quarantined:
        """Delete what is kept of a machine. The machine's name stays refused as long as its certificates may be
        valid."""
        self.refuse_release(entry)
        if machine is not None and entry.kept:
            machine.cloud.release(machine.place, entry.kept)
            self.tell(f"{', '.join(entry.kept)} deleted")
        entry = replace(entry, released=format_time(self.now()), kept=(), done=True)
        self._write(entry)
        refusal_lists.distribute(self.record, self.record.read().names, tell=self.tell)
        return entry

    def refuse_release(self, entry: Quarantined) -> None:
        """Raise ``CommandError`` when the quarantine is unfinished, since the machine may still run, or when a host's
        name is still refused."""
        if not entry.done:
            raise CommandError(
                f"the quarantine of {entry.name} is incomplete, so its machine may still run, and others may still "
                f"serve it: `longhaul machine quarantine --env {self.record.environment.name} {entry.name}` "
                "continues and must finish first, so nothing was done",
                code=Exit.REFUSED,
            )
        until = entry.refused_until()
        if not (entry.machine or entry.gone) and self.now() < until:
            raise CommandError(
                f"{entry.name} is refused until {format_time(until)}, since its stolen certificate has its name and "
                "may be valid until then, so nothing was done. To let the host back in earlier, reinstall it and "
                "give it another name in the hosts file",
                code=Exit.REFUSED,
            )

    def _remove_node(self, entry: Quarantined) -> Quarantined:
        """Remove the machine's pods and its Node, and return the entry with the time at which they were gone."""
        removal = node.remove_node(self.api, entry.name, pause=self.pause)
        self.tell(f"{counted(removal.pods, 'pod')} and its Node are gone")
        if removal.finalizers:
            self.tell(f"finalizers that no controller removed were removed: {', '.join(removal.finalizers)}")
        # A later run finds no pods, and must not begin the wait again.
        if removal.pods or not entry.pods_gone:
            entry = replace(entry, pods_gone=format_time(self.now()))
            self._write(entry)
        return entry

    def _await_tokens(self, entry: Quarantined) -> None:
        """Wait until nobody accepts tokens of the machine's pods."""
        void = entry.tokens_void()
        if void is None:
            return
        left_s = (void - self.now()).total_seconds()
        if left_s > 0:
            self.tell(
                f"waiting {left_s:.0f} s, until {format_time(void)}: so long may kubelets of other nodes remember "
                "that a token of its pods was valid"
            )
            self.pause(left_s)
        self.tell(f"tokens of its pods are void everywhere since {format_time(void)}")

    def _cut_off(self, entry: Quarantined, machine: PoolMachine | None) -> tuple[Quarantined, CloudError | None]:
        """Keep a machine's disk, then isolate the machine; in this order, since an attacker may notice the isolation
        and end the machine. Return the entry, and the cloud's last error. After an error the API servers still refuse
        the machine, and a later run replaces the machine once its disk is kept."""
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
        """Write the entry into the list, and drop entries that are no longer needed."""
        if not self.has_lease():
            raise CommandError("another run has taken over this quarantine: wait for its end, then run this again")
        self.record.write(self.record.read().with_(entry).pruned(self.now()))
