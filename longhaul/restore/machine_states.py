"""State of the machines before a step of a restore, and conclusions from it. Pure except for :func:`look`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clouds.base.errors import CloudError
from components.model import Role
from components.model.control_plane.machines import learners
from components.model.control_plane.machines import members as voters
from contract.documents.restore import MachineLook, Record, Step
from longhaul.restore.machines import Answer, PlaceMachines, RefusedStepError
from longhaul.terminal.exits import CommandError, Exit
from longhaul.vault.restore_record import UnfinishedRestore

if TYPE_CHECKING:
    from components.model import Machine
    from longhaul.etcd_backups.listing import ListedBackup

LOOK_S = 180.0
"""Time limit of a look, seconds: Azure's agent alone takes at least 20, and waits for the previous command."""


@dataclass(frozen=True, kw_only=True)
class ObservedMember:
    """One member's report about itself."""

    name: str
    quorum: bool
    revision: int
    """Its newest revision; 0 when its etcd does not answer."""
    id: str = ""
    """Id of the last restore on this machine; empty without one."""
    backup: str = ""
    step: Step = Step.NONE
    noted: Step = Step.NONE
    """Highest step that the member ever reached. The member's present step is lower if its new data has been lost
    since."""
    made: str = ""
    """Id of the etcd cluster for which the restore made this member's data."""
    cluster: str = ""
    """Id of the member's etcd cluster if that cluster has a quorum; otherwise empty."""
    asides: tuple[str, ...] = ()

    def at(self, id_: str) -> Step:
        """Return the last finished step of the restore ``id_`` on this member."""
        return self.step if self.id == id_ else Step.NONE

    @property
    def half_done(self) -> str:
        """Return the id of an unfinished restore on this member; empty without one."""
        return self.id if self.id and self.step is not Step.FINISHED else ""


@dataclass(frozen=True, kw_only=True)
class ObservedPlane:
    """Members and API servers of the control plane."""

    members: Mapping[Role, Sequence[ObservedMember]]
    """Voting members."""
    servers: tuple[str, ...]
    backups: Sequence[ListedBackup] = ()
    """Backups in the storage, the newest first."""
    learners: tuple[ObservedMember, ...] = ()
    """The main etcd cluster's learner, if it exists and answers."""

    def alive(self, role: Role, id_: str) -> bool:
        """Return whether the etcd cluster that the restore made has a quorum. Members without a record of the restore
        are new, or have lost their data since; they join that cluster by themselves."""
        made = {member.made for member in self.members[role] if member.made and member.at(id_) >= Step.STARTED}
        return any(member.quorum and member.cluster in made for member in self.members[role])

    def started(self, role: Role, id_: str) -> bool:
        """Return whether the restore has finished making an etcd cluster's members."""
        return self.alive(role, id_) or all(member.at(id_) >= Step.STARTED for member in self.members[role])

    def stopped(self, role: Role, id_: str) -> bool:
        """Return whether the restore has stopped any member of an etcd cluster."""
        return any(member.at(id_) >= Step.STOPPED for member in self.members[role])

    def without_quorum(self) -> list[Role]:
        """Return the etcd clusters in which no member reports a quorum."""
        return [role for role, those in self.members.items() if not any(member.quorum for member in those)]

    def revisions(self, role: Role) -> dict[str, int]:
        """Return the revisions that members report, by member name."""
        beside = self.learners if role is Role.ETCD else ()
        return {member.name: member.revision for member in (*self.members[role], *beside) if member.revision}


def look(fleet: PlaceMachines, machines: Sequence[Machine]) -> ObservedPlane:
    """Ask all machines of the control plane except VPN machines. Raise ``CommandError`` when a machine does not answer:
    that machine might continue with old data, or with old state in memory. The learner need not answer: it serves no
    client, and refuses to start with old data."""
    asked = [machine.name for machine in machines if machine.role is not Role.VPN]
    replies = fleet.ask_all(dict.fromkeys(asked, "restore look"), limit_s=LOOK_S)
    aside = {learner.name for learner in learners(tuple(machines))}
    silent = [
        f"  {name}: {reply}"
        for name, reply in replies.items()
        if isinstance(reply, RefusedStepError) and name not in aside
    ]
    if silent:
        raise CommandError(
            "these machines cannot be asked, so nothing was done:\n"
            + "\n".join(silent)
            + "\nIf a machine will not come back, delete it in the cloud, run `longhaul up`, which replaces it, and "
            "then run this again",
            code=Exit.REFUSED,
        )
    answers = {name: reply for name, reply in replies.items() if not isinstance(reply, RefusedStepError)}
    those = {role: voters(tuple(machines), role) for role in Role}
    return ObservedPlane(
        members={role: [_member(answers[machine.name]) for machine in those[role]] for role in Role if role.is_etcd},
        servers=tuple(machine.name for machine in those[Role.API]),
        learners=tuple(_member(answers[name]) for name in sorted(aside & answers.keys())),
    )


def missing_machines(fleet: PlaceMachines, machines: Sequence[Machine]) -> list[str]:
    """Return the machines that do not exist or do not run, in words. Raise ``CommandError`` when the cloud does not
    answer."""
    try:
        views = {view.name: view for view in fleet.control.machines(fleet.place)}
    except CloudError as error:
        raise CommandError(f"{fleet.place.environment} cannot be asked: {error}", code=Exit.UNREACHABLE) from None
    problems = []
    for machine in machines:
        if machine.is_learner or machine.role is Role.VPN:
            continue
        view = views.get(machine.name)
        if view is None:
            problems.append(f"{machine.name} is gone")
        elif view.power != "running":
            problems.append(f"{machine.name} is {view.power or 'in no known state'}")
    return problems


def may_go_on(half: UnfinishedRestore, observed: ObservedPlane) -> bool:
    """Return whether an unfinished restore can be continued. After a member has started, a member without a record of
    the restore can no longer get the same data, because the etcd cluster has accepted writes since."""
    for role in roles_of(half):
        those = observed.members[role]
        if observed.alive(role, half.id):
            continue
        furthest = max(max(member.step, member.noted) if member.id == half.id else Step.NONE for member in those)
        if furthest >= Step.STARTED and min(member.at(half.id) for member in those) < Step.REBUILT:
            return False
    return True


def roles_of(half: UnfinishedRestore) -> list[Role]:
    """Return the etcd clusters of a restore."""
    return [Role(name) for name in half.clusters]


def _member(answer: Answer) -> ObservedMember:
    look = MachineLook.of_document(answer)
    record = look.record or Record(id="", backup="", step=Step.NONE)
    return ObservedMember(
        name=look.machine,
        quorum=look.quorum,
        revision=look.revision,
        id=record.id,
        backup=record.backup,
        step=Step(record.step),
        noted=Step(look.noted),
        made=record.cluster,
        cluster=look.cluster,
        asides=look.asides,
    )
