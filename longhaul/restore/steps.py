"""The steps of a restore, in order. Each may be repeated: machines report which are done."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from components.model import Role, control_machines, plan
from contract.documents.restore import BackupSource, RestorePlan, Step
from longhaul.restore.age_header import HeaderError, wrap
from longhaul.restore.former_keys import readmit_former
from longhaul.restore.machine_states import LOOK_S, ObservedMember, ObservedPlane, look
from longhaul.restore.machines import Answer, PlaceMachines, RefusedStepError
from longhaul.terminal.exits import CommandError, Exit
from longhaul.vault.encryption_keys import EncryptionVault
from longhaul.vault.restore_record import RestoreRecords, RestoreState, UnfinishedRestore

if TYPE_CHECKING:
    from longhaul.restore.file_key import SealedBackup

STOP_S = 600.0
"""Time limit, seconds: an API server's programs take up to 50 to stop, etcd up to 60, and a run command 20."""

REBUILD_S = 5000.0
"""Time limit, seconds: a run command ends after 90 minutes (learn.microsoft.com, "Run scripts in your Linux VM by using
action Run Commands")."""

LEADER_S = 300.0
"""Time that a member waits for a leader, seconds."""

READY_S = 300.0
"""Time until an API server must be ready, seconds."""


@dataclass(frozen=True, kw_only=True)
class Restoration:
    """One restore of one environment, with chosen backups."""

    half: UnfinishedRestore
    sealed: Mapping[Role, SealedBackup]
    observed: ObservedPlane
    fleet: PlaceMachines
    book: RestoreRecords
    before: UnfinishedRestore | None
    """Last restore in the vault at the time when this restore was prepared."""
    say: Callable[[str], None]
    clusters: dict[Role, str] = field(default_factory=dict)
    """Ids of the new etcd clusters, hexadecimal."""
    asides: dict[str, Sequence[str]] = field(default_factory=dict)
    """Folders that restores have set aside, by member."""

    @property
    def _roles(self) -> Sequence[Role]:
        return list(self.sealed)

    def run(self) -> None:
        """Run the remaining steps. Raise ``CommandError`` with each problem and its machine. After that, or after an
        interrupt, another run continues."""
        self._look_again()
        self.book.write(self.half)
        if waiting := [role for role in self._roles if not self.observed.started(role, self.half.id)]:
            self._stop_servers()
            if Role.ETCD in waiting:
                self._stop_learners()
            self._rebuild(waiting, self._stop_members(waiting))
        else:
            self.say("the members are started: continuing")
        for role in self._roles:
            self._start(role)
        if Role.ETCD in self._roles:
            book = self.book
            record = EncryptionVault(control=book.control, place=book.place, environment=book.environment)
            readmit_former(record, say=self.say)
        self._start_servers()
        self._finish()

    def _look_again(self) -> None:
        """Refuse when a quorum has returned, or another run has restored, while the question was on the screen."""
        if self.book.last() != self.before:
            message = "another run has begun or ended a restore meanwhile, so nothing was done: run this again"
            raise CommandError(message, code=Exit.REFUSED)
        touched = [role for role in self._roles if self.observed.stopped(role, self.half.id)]
        if self.half.although_healthy or len(touched) == len(self._roles):
            return
        environment = self.book.environment
        lost = look(self.fleet, control_machines(environment, plan(environment))).without_quorum()
        if healthy := [str(role) for role in self._roles if role not in touched and role not in lost]:
            message = f"{' and '.join(healthy)}: there is a quorum again, so nothing was done: `longhaul status`"
            raise CommandError(message, code=Exit.REFUSED)

    def _stop_servers(self) -> None:
        self.say(f"stopping the API servers: {', '.join(self.observed.servers)}")
        words = f"restore stop --id {self.half.id}"
        self.fleet.ask_all_or_fail(dict.fromkeys(self.observed.servers, words), what="not stopped", limit_s=STOP_S)

    def _learners(self) -> list[str]:
        return [learner.name for learner in self.observed.learners if Role.ETCD in self._roles]

    def _stop_learners(self) -> None:
        if waiting := self._learners():
            self.say(f"stopping the learner and setting its data aside: {', '.join(waiting)}")
            words = dict.fromkeys(waiting, f"restore stop --id {self.half.id}")
            self._ask_learners(words, "not stopped")

    def _ask_learners(self, words: Mapping[str, str], what: str) -> dict[str, Answer]:
        """Ask learners, and print which of them refuse. Learners that refuse are skipped: learners serve no client, and
        the new etcd cluster refuses their old data."""
        replies = self.fleet.ask_all(words, limit_s=STOP_S)
        for name, reply in replies.items():
            if isinstance(reply, RefusedStepError):
                self.say(f"{name}: {what}, and left out: {reply}. After the restore: delete it in the cloud, then `up`")
        return {name: reply for name, reply in replies.items() if not isinstance(reply, RefusedStepError)}

    def _stop_members(self, roles: Sequence[Role]) -> dict[str, str]:
        """Stop every member, and return the one-time public keys of those that need new data."""
        self.say(
            f"stopping etcd and setting its data aside: {', '.join(member.name for member in self._members(roles))}"
        )
        healthy = ["--although-healthy"] if self.half.although_healthy else []
        words = {}
        for role in roles:
            for member in self.observed.members[role]:
                # Names of blobs and answers of machines are untrusted, so they must not get into a shell command.
                names = ["--id", self.half.id, "--backup", self.sealed[role].backup.name]
                instead = ["--instead", member.half_done] if member.half_done not in ("", self.half.id) else []
                words[member.name] = shlex.join(["restore", "stop", *names, *instead, *healthy])
        answers = self.fleet.ask_all_or_fail(words, what="not stopped", limit_s=STOP_S)
        return {name: str(answer["recipient"]) for name, answer in answers.items() if answer.get("recipient")}

    def _rebuild(self, roles: Sequence[Role], recipients: Mapping[str, str]) -> None:
        if recipients:
            self.say(f"making new data from the backups: {', '.join(recipients)}")
        words = {}
        for role in roles:
            for member in self.observed.members[role]:
                plan = self._plan(role, self.sealed[role], recipients[member.name]) if member.name in recipients else ""
                words[member.name] = f"restore rebuild --id {self.half.id} --plan '{plan}'"
        answers = self.fleet.ask_all_or_fail(words, what="no new data", limit_s=REBUILD_S)
        for role in roles:
            self._note(role, answers)

    def _plan(self, role: Role, sealed: SealedBackup, recipient: str) -> str:
        """Return the plan for one member. Only that member can use the file key in it."""
        try:
            header = wrap(sealed.file_key, recipient)
        except HeaderError as error:
            raise CommandError(f"a member of {role} cannot be given the backup's key: {error}") from None
        backup = sealed.backup
        kept, _, name = backup.name.partition("/")
        source = BackupSource(
            kept=kept,
            name=name,
            sha256=backup.sha256,
            snapshot_sha256=backup.snapshot_sha256,
            revision=backup.revision,
            keys=backup.keys,
            size=backup.size_bytes,
            plain_size=backup.plain_bytes,
            header=header,
            skip=sealed.skip,
        )
        plan = RestorePlan(
            source=source,
            members=tuple(member.name for member in self.observed.members[role]),
            # With a word of its own the etcd cluster has an id of its own: a member with old data is refused.
            token=f"{self.book.environment.name}-{role}-{self.half.id}",
            bump=self.half.clusters[str(role)].bump,
        )
        return plan.to_text()

    def _start(self, role: Role) -> None:
        joined = self._joined(role)
        waiting = [
            member.name
            for member in self.observed.members[role]
            if member.at(self.half.id) < Step.FINISHED and member.name not in joined
        ]
        if not waiting:
            return
        self.say(f"starting etcd: {', '.join(waiting)}")
        words = dict.fromkeys(waiting, f"restore start --id {self.half.id} --wait {LEADER_S:.0f}")
        answers = self.fleet.ask_all_or_fail(words, what="etcd does not commit", limit_s=LEADER_S + LOOK_S)
        self._note(role, answers)
        self.book.set_cluster(role, self.clusters[role])
        self.say(f"{role} has a quorum: cluster {self.clusters[role]}")
        if lifted := sorted({str(name) for answer in answers.values() for name in answer.get("lifted", ())}):
            self.say(f"{role}: lifted the alarm {' and '.join(lifted)}, which the backup was made with")

    def _note(self, role: Role, answers: Mapping[str, Answer]) -> None:
        """Record the id of the new etcd cluster. Raise ``CommandError`` unless all members report the same."""
        mine = {
            member.name: str(answers[member.name]["cluster"])
            for member in self.observed.members[role]
            if member.name in answers
        }
        if len(set(mine.values())) > 1:
            raise CommandError(f"members of {role} have data of several etcd clusters, and are left unchanged: {mine}")
        self.clusters[role] = next(iter(mine.values()))

    def _start_servers(self) -> None:
        servers = self.observed.servers
        self.say(f"starting the API servers: {', '.join(servers)}")
        words = f"restore finish --id {self.half.id}"
        self.fleet.ask_all_or_fail(dict.fromkeys(servers, words), what="not started", limit_s=STOP_S)
        answers = self.fleet.ask_all_or_fail(
            dict.fromkeys(servers, f"ready --wait {READY_S:.0f}"), what="not ready", limit_s=READY_S + LOOK_S
        )
        idle = [f"{name}: {_why(answer)}" for name, answer in answers.items() if not answer.get("ready")]
        if idle:
            raise CommandError(f"the etcd clusters are restored, and API servers are not ready: {'; '.join(idle)}")

    def _finish(self) -> None:
        command = f"restore finish --id {self.half.id}"
        joined = [name for role in self._roles for name in self._joined(role)]
        words = {member.name: command + " --joined" * (member.name in joined) for member in self._members(self._roles)}
        answers = self.fleet.ask_all_or_fail(words, what="not finished", limit_s=STOP_S)
        answers |= self._ask_learners(dict.fromkeys(self._learners(), command), "not started")
        for name, answer in answers.items():
            self.asides[name] = answer.get("asides") or ()
        self.book.write(replace(self.half, state=RestoreState.DONE))

    def _joined(self, role: Role) -> list[str]:
        """Return the members that join a restored etcd cluster by themselves."""
        if not self.observed.alive(role, self.half.id):
            return []
        return [member.name for member in self.observed.members[role] if member.at(self.half.id) < Step.REBUILT]

    def _members(self, roles: Sequence[Role]) -> list[ObservedMember]:
        return [member for role in roles for member in self.observed.members[role]]


def _why(answer: Mapping[str, Any]) -> str:
    failed = [f"{check['name']}: {check['detail']}" for check in answer.get("checks", ()) if not check.get("ok")]
    return "; ".join(failed) or "it gives no reason"
