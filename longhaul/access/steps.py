"""Steps of a revocation, and of its end.

The list in the vault comes first: wherever it is read from then on, the person is refused. Then every API server
fetches it, all at once, and says that it uses it. What was open goes on until a server is started anew, which they are
one after the other. Each step may be repeated, so a run that was interrupted is finished by the next. No API server has
to work, nor any issuer."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from components.model.access.quarantine import moment
from components.model.access.revoked import RevokedPerson
from longhaul.control_plane.denials import PEOPLE, end_connections, hand_to, servers, vpn_machines
from longhaul.terminal.exits import CommandError

if TYPE_CHECKING:
    from components.model.access.revoked import Revoked
    from longhaul.access.people import PeopleVault

TRIES = 3
"""Number of times that a change is written: another run may write its own over it."""


@dataclass(frozen=True, kw_only=True)
class AccessRun:
    """One run."""

    people: PeopleVault
    tell: Callable[[str], None]
    now: Callable[[], datetime]
    clock: Callable[[], float]
    """Seconds, for how long it takes."""
    turn: Callable[[], AbstractContextManager[None]]
    """Gives the turn of whoever starts API servers anew; ``CommandError`` while somebody else has it."""

    def revoke(self, name: str, *, by: str, keep_connections: bool) -> None:
        """Have every API server and VPN machine refuse a person, and end what they have open."""
        person = RevokedPerson(name=name, since=moment(self.now()), by=by)
        self._put(lambda revoked: revoked.with_(person))
        if not keep_connections:
            with self.turn():
                end_connections(self.people, tell=self.tell, refusal=PEOPLE)

    def restore(self, name: str) -> None:
        """Have them all take a person again."""
        self._put(lambda revoked: revoked.without(name))

    def apply(self) -> None:
        """Have them all fetch the vault's list of people, and API servers with it the issuers, at once."""
        self._hand_out()

    def _put(self, change: Callable[[Revoked], Revoked]) -> None:
        """Change the list, and hand it out, until it is as changed at the end: the vault knows no lock."""
        for _ in range(TRIES):
            if self.people.change(change):
                self.tell("the vault has the list")
            self._hand_out()
            revoked = self.people.read()
            if change(revoked) == revoked:
                return
        raise CommandError("others change the list of people at the same time, and undo this change: run this again")

    def _hand_out(self) -> None:
        """Have every API server and VPN machine use the list; ``CommandError`` when one does not, after all were."""
        began, names = self.clock(), [*servers(self.people), *vpn_machines(self.people)]
        failed: list[str] = []

        def wanted() -> tuple[str, ...]:
            return self.people.read().names

        with ThreadPoolExecutor(max_workers=len(names)) as pool:
            asked = {pool.submit(hand_to, self.people, name, wanted, PEOPLE): name for name in names}
            for done in as_completed(asked):
                try:
                    refused = ", ".join(done.result()) or PEOPLE.nobody
                    self.tell(f"{asked[done]} refuses {refused}, after {self.clock() - began:.0f} s")
                except CommandError as error:
                    failed.append(str(error))
        if failed:
            raise CommandError("; ".join(sorted(failed)))
