"""The steps of a restore, in their order. Each may be repeated: machines say which of them are done."""

from __future__ import annotations

import base64
import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from components.model import Role
from longhaul.exits import CommandError
from longhaul.restore.age_header import HeaderError, wrapped
from longhaul.restore.fleet import Answer, Fleet
from longhaul.restore.half_done import Book, HalfDone, State
from longhaul.restore.seen import LOOK_S, Seen, Step, all_at

if TYPE_CHECKING:
    from longhaul.restore.sealed import Sealed

STOP_S = 600.0
"""Time limit in seconds: an API server takes up to 90 to stop, etcd up to 60, and a run command 20."""

REBUILD_S = 5000.0
"""Time limit in seconds: a run command ends after 90 minutes (learn.microsoft.com, "Run scripts in your Linux VM by
using action Run Commands")."""

LEADER_S = 300.0
"""Seconds that a member waits for a leader."""

READY_S = 300.0
"""Seconds that an API server gets to be ready."""


@dataclass(frozen=True, kw_only=True)
class Restoration:
    """One restore of one environment, whose backups are chosen."""

    half: HalfDone
    sealed: Mapping[Role, Sealed]
    seen: Seen
    fleet: Fleet
    book: Book
    say: Callable[[str], None]
    clusters: dict[Role, str] = field(default_factory=dict)
    """Ids of the new etcd clusters, hexadecimal."""
    asides: dict[str, Sequence[str]] = field(default_factory=dict)
    """Folders that restores have set aside, by member."""

    @property
    def _roles(self) -> Sequence[Role]:
        return list(self.sealed)

    def run(self) -> None:
        """Do what is left of it; ``CommandError`` with what is wrong where. After that, or after an interrupt, another
        run goes on."""
        self.book.write(self.half)
        if all_at(self.seen, self._roles, self.half.id, Step.STARTED):
            self.say("the members are started: going on from there")
        else:
            self._stop_servers()
            self._stop_learners()
            self._rebuild(self._stop_members())
        for role in self._roles:
            self._start(role)
        self._start_servers()
        self._finish()

    def _stop_servers(self) -> None:
        self.say(f"stopping the API servers: {', '.join(self.seen.servers)}")
        words = f"restore stop --id {self.half.id}"
        self.fleet.must(dict.fromkeys(self.seen.servers, words), what="not stopped", limit_s=STOP_S)

    def _learners(self) -> list[str]:
        return [one.name for one in self.seen.learners if Role.ETCD in self._roles]

    def _stop_learners(self) -> None:
        if waiting := self._learners():
            self.say(f"stopping the learner and setting its data aside: {', '.join(waiting)}")
            words = dict.fromkeys(waiting, f"restore stop --id {self.half.id}")
            self.fleet.must(words, what="not stopped", limit_s=STOP_S)

    def _stop_members(self) -> dict[str, str]:
        """Stop every member, and return the one-time public keys of those that need new data."""
        self.say(f"stopping etcd and setting its data aside: {', '.join(self._members())}")
        words = {}
        for role, sealed in self.sealed.items():
            for one in self.seen.members[role]:
                # Names of blobs and answers of machines are nobody's words to put into a shell.
                names = ["--id", self.half.id, "--backup", sealed.backup.name]
                instead = ["--instead", one.half_done] if one.half_done not in ("", self.half.id) else []
                words[one.name] = shlex.join(["restore", "stop", *names, *instead])
        answers = self.fleet.must(words, what="not stopped", limit_s=STOP_S)
        return {name: str(one["recipient"]) for name, one in answers.items() if one.get("recipient")}

    def _rebuild(self, recipients: Mapping[str, str]) -> None:
        if recipients:
            self.say(f"making new data of the backups: {', '.join(recipients)}")
        words = {}
        for role, sealed in self.sealed.items():
            for one in self.seen.members[role]:
                plan = self._plan(role, sealed, recipients[one.name]) if one.name in recipients else ""
                words[one.name] = f"restore rebuild --id {self.half.id} --plan '{plan}'"
        answers = self.fleet.must(words, what="no new data", limit_s=REBUILD_S)
        for role in self._roles:
            self._note(role, answers)

    def _plan(self, role: Role, sealed: Sealed, recipient: str) -> str:
        """Return what a member needs to know. The file key in it is of use to that member alone."""
        try:
            header = wrapped(sealed.file_key, recipient)
        except HeaderError as error:
            raise CommandError(f"a member of {role} cannot be given the backup's key: {error}") from None
        backup = sealed.backup
        kept, _, name = backup.name.partition("/")
        source = {
            "kept": kept,
            "name": name,
            "sha256": backup.sha256,
            "snapshot_sha256": backup.snapshot_sha256,
            "revision": backup.revision,
            "keys": backup.keys,
            "size": backup.size_bytes,
            "plain_size": backup.plain_bytes,
            "header": base64.b64encode(header).decode(),
            "skip": sealed.skip,
        }
        plan = {
            "source": source,
            "members": [one.name for one in self.seen.members[role]],
            # With a word of its own the etcd cluster has an id of its own: a member with old data is refused.
            "token": f"{self.book.environment.name}-{role}-{self.half.id}",
            "bump": self.half.clusters[str(role)].bump,
        }
        return base64.b64encode(json.dumps(plan).encode()).decode()

    def _start(self, role: Role) -> None:
        waiting = [one.name for one in self.seen.members[role] if one.at(self.half.id) < Step.FINISHED]
        if not waiting:
            return
        self.say(f"starting etcd: {', '.join(waiting)}")
        words = dict.fromkeys(waiting, f"restore start --id {self.half.id} --wait {LEADER_S:.0f}")
        answers = self.fleet.must(words, what="etcd does not commit", limit_s=LEADER_S + LOOK_S)
        self._note(role, answers)
        self.book.set_cluster(role, self.clusters[role])
        self.say(f"{role} has a quorum: cluster {self.clusters[role]}")

    def _note(self, role: Role, answers: Mapping[str, Answer]) -> None:
        """Note the id of the new etcd cluster; ``CommandError`` unless all members have the same."""
        mine = {one.name: str(answers[one.name]["cluster"]) for one in self.seen.members[role] if one.name in answers}
        if len(set(mine.values())) > 1:
            raise CommandError(f"members of {role} have data of several etcd clusters, and stay as they are: {mine}")
        self.clusters[role] = next(iter(mine.values()))

    def _start_servers(self) -> None:
        servers = self.seen.servers
        self.say(f"starting the API servers: {', '.join(servers)}")
        words = f"restore finish --id {self.half.id}"
        self.fleet.must(dict.fromkeys(servers, words), what="not started", limit_s=STOP_S)
        answers = self.fleet.must(
            dict.fromkeys(servers, f"ready --wait {READY_S:.0f}"), what="not ready", limit_s=READY_S + LOOK_S
        )
        idle = [f"{name}: {_why(one)}" for name, one in answers.items() if not one.get("ready")]
        if idle:
            raise CommandError(f"the etcd clusters are restored, and API servers are not ready: {'; '.join(idle)}")

    def _finish(self) -> None:
        words = dict.fromkeys([*self._members(), *self._learners()], f"restore finish --id {self.half.id}")
        for name, answer in self.fleet.must(words, what="not finished", limit_s=STOP_S).items():
            self.asides[name] = answer.get("asides") or ()
        self.book.write(replace(self.half, state=State.DONE))

    def _members(self) -> list[str]:
        return [one.name for role in self._roles for one in self.seen.members[role]]


def _why(answer: Mapping[str, Any]) -> str:
    failed = [f"{one['name']}: {one['detail']}" for one in answer.get("checks", ()) if not one.get("ok")]
    return "; ".join(failed) or "it gives no reason"
