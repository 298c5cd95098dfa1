"""Steps that revoke and restore a person's access.

The list in the vault comes first: every later reader of the list refuses the person. Then all API servers fetch the
list at the same time, and confirm that they use it. Open connections last until the server restarts; servers restart
one after the other. Each step may be repeated, so the next run finishes an interrupted run. None of the steps needs a
working API or issuer.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from contract.documents.quarantine import format_time
from contract.documents.revoked import RevokedPerson
from longhaul.control_plane.refusal_lists import PEOPLE, distribute_to, end_connections, servers, vpn_machines
from longhaul.terminal.exits import CommandError

if TYPE_CHECKING:
    from contract.documents.revoked import Revoked
    from longhaul.access.people import PeopleVault

TRIES = 3
"""Number of attempts to write a change: another run may overwrite it."""


@dataclass(frozen=True, kw_only=True)
class AccessRun:
    """One run."""

    people: PeopleVault
    tell: Callable[[str], None]
    now: Callable[[], datetime]
    clock: Callable[[], float]
    """Returns seconds, to measure durations."""
    turn: Callable[[], AbstractContextManager[None]]
    """Returns a lock for restarting API servers. The lock raises ``CommandError`` while another run holds it."""

    def revoke(self, name: str, *, by: str, keep_connections: bool) -> None:
        """Have every API server and VPN machine refuse a person. Unless ``keep_connections``, end the person's open
        connections."""
        person = RevokedPerson(name=name, since=format_time(self.now()), by=by)
        self._put(lambda revoked: revoked.with_(person))
        if not keep_connections:
            with self.turn():
                end_connections(self.people, tell=self.tell, refusal=PEOPLE)

    def restore(self, name: str) -> None:
        """Have every API server and VPN machine accept a person again."""
        self._put(lambda revoked: revoked.without(name))

    def apply(self) -> None:
        """Have every API server and VPN machine fetch the vault's list of people now; API servers fetch the issuers
        too."""
        self._hand_out()

    def _put(self, change: Callable[[Revoked], Revoked]) -> None:
        """Change the list and hand it out, and repeat when another run undid the change: the vault has no lock."""
        for _ in range(TRIES):
            if self.people.change(change):
                self.tell("the vault has the list")
            self._hand_out()
            revoked = self.people.read()
            if change(revoked) == revoked:
                return
        raise CommandError("other runs change the list of people at the same time and undo this change: run this again")

    def _hand_out(self) -> None:
        """Have every API server and VPN machine use the list. Raise ``CommandError`` when any fails, after all have
        been tried."""
        began, names = self.clock(), [*servers(self.people), *vpn_machines(self.people)]
        failed: list[str] = []

        def wanted() -> tuple[str, ...]:
            return self.people.read().names

        with ThreadPoolExecutor(max_workers=len(names)) as pool:
            asked = {pool.submit(distribute_to, self.people, name, wanted, PEOPLE): name for name in names}
            for done in as_completed(asked):
                try:
                    refused = ", ".join(done.result()) or PEOPLE.nobody
                    self.tell(f"{asked[done]} refuses {refused}, after {self.clock() - began:.0f} s")
                except CommandError as error:
                    failed.append(str(error))
        if failed:
            raise CommandError("; ".join(sorted(failed)))
