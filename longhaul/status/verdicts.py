"""Judges the observed state. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from clouds.base.findings import Severity
from components.model import Role
from components.model.control_plane.machines import learners
from components.model.control_plane.machines import members as voters
from components.model.network.links import links
from components.model.nodes.host_nodes import HOSTS
from contract.documents.node_answers import MemberReport
from contract.reasons.status import StatusReason
from longhaul.control_plane.node_answers import STILL
from longhaul.report.status_verdict import StatusVerdict
from longhaul.status.backups import BackupStatus, judge_backup
from longhaul.status.certificates import judge_certificates
from longhaul.status.fleet import AddonStatus, LinkStatus, NodeStatus, judge_addons, judge_links, judge_nodes
from longhaul.status.gateways import GatewayStatus, judge_gateways
from longhaul.status.observed import ApiEndpoint, Observed
from longhaul.status.pods import PodsStatus, judge_pods
from longhaul.status.pools import PoolStatus, judge_pools, judge_unjoined
from longhaul.status.quarantine import QuarantineStatus, judge_quarantine
from longhaul.status.rotations import RotationStatus, judge_rotations
from longhaul.status.symptom import SymptomSubject
from longhaul.status.symptoms import advised

if TYPE_CHECKING:
    from components.model import Environment, Machine


@dataclass(frozen=True, kw_only=True)
class MachineStatus:
    """Verdict on one machine."""

    name: str
    role: str
    verdict: StatusVerdict
    reason: StatusReason
    message: str
    provisioning: str = ""
    power: str = ""


@dataclass(frozen=True, kw_only=True)
class MemberStatus:
    """Verdict on one member of an etcd cluster, from the reports of the cluster's machines."""

    name: str
    verdict: StatusVerdict
    reason: StatusReason
    message: str
    leader: bool = False
    learner: bool = False
    """True when it does not vote yet, or never votes."""

    @property
    def healthy(self) -> bool:
        """Return whether the verdict is ok."""
        return self.verdict is StatusVerdict.OK


@dataclass(frozen=True, kw_only=True)
class EtcdStatus:
    """Verdict on one etcd cluster."""

    name: str
    verdict: StatusVerdict
    reason: StatusReason
    message: str
    members: tuple[MemberStatus, ...]
    backup: BackupStatus | None = None
    """Verdict on its backups; None when the environment has none."""


@dataclass(frozen=True, kw_only=True)
class ApiStatus:
    """Verdict on the API servers together, behind their load balancer."""

    verdict: StatusVerdict
    reason: StatusReason
    message: str
    url: str


@dataclass(frozen=True, kw_only=True)
class Status:
    """Status of an environment."""

    environment: str
    machines: tuple[MachineStatus, ...]
    etcd_clusters: tuple[EtcdStatus, ...]
    api: ApiStatus
    gateways: tuple[GatewayStatus, ...]
    links: tuple[LinkStatus, ...]
    nodes: tuple[NodeStatus, ...]
    """All nodes, and all machines and hosts that should be nodes."""
    pools: tuple[PoolStatus, ...]
    addons: tuple[AddonStatus, ...]
    pods: tuple[PodsStatus, ...] = ()
    """Pods that do not start, by cause; they do not make the environment unhealthy."""
    rotations: tuple[RotationStatus, ...] = ()
    """Unfinished rotations of keys, and rotations in which a machine lags behind."""
    quarantine: tuple[QuarantineStatus, ...] = ()
    """Machines in quarantine that were not released, and an entry for the list when it cannot be read."""

    @property
    def healthy(self) -> bool:
        """Return whether everything is healthy; a part whose state is not visible from here does not count as a
        fault."""
        named = (
            *(self.machines, self.etcd_clusters, self.gateways, self.links, self.nodes),
            *(self.pools, self.addons, self.rotations, self.quarantine),
        )
        verdicts = [self.api.verdict, *(part.verdict for parts in named for part in parts)]
        return all(verdict.severity in (Severity.OK, Severity.UNKNOWN) for verdict in verdicts)


def judge(environment: Environment, machines: Sequence[Machine], observed: Observed, *, inside: bool) -> Status:
    """Return the environment's status; ``inside`` means a lab, where API and gateways are reachable from here."""
    env = environment.name
    servers = [machine.name for machine in machines if machine.role is Role.API]
    racks = {link.name for link in links(environment) if _has_rack(environment, link.first, link.second)}
    return Status(
        environment=env,
        machines=(
            *(advised(_machine(machine, observed), env, SymptomSubject.CONTROL_MACHINE) for machine in machines),
            *(advised(machine, env, SymptomSubject.CONTROL_MACHINE) for machine in _unexpected(machines, observed)),
        ),
        etcd_clusters=tuple(
            advised(_etcd(environment, role, tuple(machines), observed), env, SymptomSubject.ETCD_CLUSTER)
            for role in Role
            if role.is_etcd
        ),
        api=advised(_api(servers, observed, inside=inside), env, SymptomSubject.API),
        gateways=tuple(
            advised(gateway, env, SymptomSubject.GATEWAY, SymptomSubject.HOST, in_lab=inside)
            for gateway in judge_gateways(environment, observed, inside=inside)
        ),
        links=tuple(
            advised(
                link, env, SymptomSubject.RACK_LINK if link.name in racks else SymptomSubject.CLOUD_LINK, in_lab=inside
            )
            for link in judge_links(environment, observed)
        ),
        nodes=(
            *(
                advised(node, env, *_subjects(node), in_lab=inside)
                for node in judge_nodes(environment, observed, lab=inside)
            ),
            *judge_unjoined(environment, observed),
        ),
        pools=tuple(
            # Each host has a row of its own.
            pool if pool.name == HOSTS else advised(pool, env, SymptomSubject.POOL)
            for pool in judge_pools(environment, observed)
        ),
        addons=tuple(advised(addon, env, SymptomSubject.ADDON) for addon in judge_addons(environment, observed)),
        pods=judge_pods(env, observed),
        rotations=judge_rotations(env, observed),
        quarantine=tuple(
            advised(entry, env, SymptomSubject.QUARANTINE) for entry in judge_quarantine(environment, servers, observed)
        ),
    )


def _subjects(node: NodeStatus) -> tuple[SymptomSubject, ...]:
    return (SymptomSubject.HOST,) if node.pool == HOSTS else (SymptomSubject.POOL_MACHINE, SymptomSubject.HOST)


def _has_rack(environment: Environment, *sites: str) -> bool:
    return any(environment.sites[site].gateways for site in sites)


def _machine(machine: Machine, observed: Observed) -> MachineStatus:
    status = _machine_status(machine, observed)
    # The cluster works without the learner, so the learner's faults are warnings.
    return (
        replace(status, verdict=StatusVerdict.DEGRADED)
        if machine.is_learner and status.verdict is not StatusVerdict.OK
        else status
    )


def _machine_status(machine: Machine, observed: Observed) -> MachineStatus:
    view = observed.cloud.get(machine.name)
    if view is None:
        return MachineStatus(
            name=machine.name,
            role=machine.role,
            verdict=StatusVerdict.MISSING,
            reason=StatusReason.NOT_IN_CLOUD,
            message="it is in the environment's file, but not in the cloud",
        )
    answer = observed.answers.get(machine.name)
    if answer is None:
        verdict, reason = StatusVerdict.DOWN, StatusReason.NOT_RUNNING
        message = f"the cloud reports that it is {view.power or 'in no known state'}"
    elif view.provisioning.lower() == "failed":
        verdict, reason = StatusVerdict.UNHEALTHY, StatusReason.PROVISIONING_FAILED
        message = "the cloud failed to provision it"
    else:
        verdict, reason, message = judge_certificates(answer.certificates, observed.now)
        if not answer.ready:
            # An expired certificate makes the checks fail.
            reason = reason if verdict is StatusVerdict.UNHEALTHY else StatusReason.CHECKS_FAILED
            verdict = StatusVerdict.UNHEALTHY
        message = "; ".join(filter(None, (message, "ready" if answer.ready else answer.reason)))
    return MachineStatus(
        name=machine.name,
        role=machine.role,
        verdict=verdict,
        reason=reason,
        message=message,
        provisioning=view.provisioning,
        power=view.power,
    )


def _unexpected(machines: Sequence[Machine], observed: Observed) -> list[MachineStatus]:
    known = {machine.name for machine in machines}
    return [
        MachineStatus(
            name=name,
            role="",
            verdict=StatusVerdict.UNEXPECTED,
            reason=StatusReason.NOT_IN_FILE,
            message="it is in the cloud, but not in the environment's file",
            provisioning=view.provisioning,
            power=view.power,
        )
        for name, view in sorted(observed.cloud.items())
        if name not in known
    ]


def _etcd(environment: Environment, role: Role, machines: tuple[Machine, ...], observed: Observed) -> EtcdStatus:
    mine = [machine.name for machine in voters(machines, role)]
    aside = [machine.name for machine in learners(machines) if machine.role is role]
    voting = [_member(name, observed) for name in mine]
    beside = [_learner(name, mine, observed) for name in aside]
    members = (*voting, *beside, *_strangers([*mine, *aside], observed))
    healthy = sum(member.healthy for member in voting)
    quorum = len(mine) // 2 + 1
    counted = f"{healthy} of {len(mine)} members healthy"
    if all(member.healthy for member in members):
        verdict, reason, message = StatusVerdict.OK, StatusReason.READY, counted
    elif healthy >= quorum:
        verdict, reason = StatusVerdict.DEGRADED, StatusReason.MEMBERS_UNHEALTHY
        message = f"{counted}; {healthy - quorum} more may be lost"
    else:
        verdict, reason = StatusVerdict.DOWN, StatusReason.QUORUM_LOST
        message = f"{counted}, quorum is {quorum}: {_way_back(environment, mine, observed)}"
    message = "; ".join([message, *(f"the learner: {learner.message}" for learner in beside if not learner.healthy)])
    backup = judge_backup(environment, [*mine, *aside], observed)
    if backup is not None:
        if verdict is StatusVerdict.OK:
            verdict, reason = backup.verdict, backup.reason
        message = f"{message}; {backup.message}"
    return EtcdStatus(name=str(role), verdict=verdict, reason=reason, message=message, members=members, backup=backup)


def _way_back(environment: Environment, mine: Sequence[str], observed: Observed) -> str:
    """Return what to do about a lost quorum. A restore is the last resort, since it loses all writes after the
    backup."""
    command = f"`longhaul restore --env {environment.name} --key KEYFILE`"
    if half := next((answer.restore for name in mine if (answer := observed.answers.get(name)) and answer.restore), ""):
        return f"a restore of {half} is incomplete, and {command} continues it"
    still = sum(name in observed.cloud and observed.cloud[name].power in STILL for name in mine)
    if len(mine) // 2 + 1 <= still + sum(_member(name, observed).healthy for name in mine):
        return "`longhaul up` starts machines that are off"
    if environment.backups is None:
        return "quorum lost, and there are no backups"
    return f"quorum lost; if its members do not come back, restore with {command}"


def _member(name: str, observed: Observed) -> MemberStatus:
    """Judge one member. A member is healthy only if it reports so itself: the other members may still list a member
    that no longer exists."""
    answer = observed.answers.get(name)
    if answer is None:
        reason, message = StatusReason.NOT_RUNNING, "its machine does not run"
        return MemberStatus(name=name, verdict=StatusVerdict.DOWN, reason=reason, message=message)
    if not answer.ready:
        reason, message = StatusReason.CHECKS_FAILED, answer.reason
        return MemberStatus(name=name, verdict=StatusVerdict.UNHEALTHY, reason=reason, message=message)
    entry = next((member for member in answer.members if member.name == name), None)
    if entry is None and answer.members:
        reason, message = StatusReason.NOT_A_MEMBER, "it is not in its own list of members"
        return MemberStatus(name=name, verdict=StatusVerdict.UNHEALTHY, reason=reason, message=message)
    return MemberStatus(
        name=name,
        verdict=StatusVerdict.OK,
        reason=StatusReason.READY,
        message=_described(entry),
        leader=entry is not None and entry.leader,
        learner=entry is not None and entry.learner,
    )


def _learner(name: str, mine: Sequence[str], observed: Observed) -> MemberStatus:
    """Judge the learner: without it the etcd cluster works, but less data survives a disaster."""
    status = _member(name, observed)
    behind = _behind(name, mine, observed)
    if not status.healthy:
        message = "; ".join(filter(None, [status.message, behind]))
        return replace(status, verdict=StatusVerdict.DEGRADED, message=message)
    return replace(status, message=", ".join(filter(None, [status.message, behind or "has the newest revision"])))


def _behind(name: str, mine: Sequence[str], observed: Observed) -> str:
    """Return how far the learner is behind the voting members, as one of these members reports; empty when it is not
    behind."""
    for voter in mine:
        members = observed.answers[voter].members if voter in observed.answers else ()
        newest = {member.name: member.revision for member in members}
        if newest.get(voter) and name in newest:
            lag = max(newest.values()) - newest[name]
            return f"{lag:,} revisions behind" if lag > 0 else ""
    return ""


def _strangers(mine: Sequence[str], observed: Observed) -> tuple[MemberStatus, ...]:
    """Return members that the etcd cluster lists and the environment's file does not."""
    listed = {
        member.name or member.id: member
        for name in mine
        if name in observed.answers
        for member in observed.answers[name].members
    }
    return tuple(
        MemberStatus(
            name=name,
            verdict=StatusVerdict.UNEXPECTED,
            reason=StatusReason.NOT_IN_FILE,
            message="the etcd cluster lists it, the file does not",
        )
        for name in sorted(listed)
        if name not in mine
    )


def _described(member: MemberReport | None) -> str:
    if member is None:
        return "member"
    words = [word for word in ("leader", "learner") if getattr(member, word)] or ["member"]
    return ", ".join([*words, f"{member.db_size_bytes / 2**20:.1f} MiB"])


def _api(servers: Sequence[str], observed: Observed, *, inside: bool) -> ApiStatus:
    ready = sum(server in observed.answers and observed.answers[server].ready for server in servers)
    counted = f"{ready} of {len(servers)} servers ready"
    endpoint = observed.endpoint
    if not ready:
        verdict, reason, message = StatusVerdict.DOWN, StatusReason.NO_SERVER_READY, counted
    elif not endpoint.ready and (endpoint.reached or inside):
        verdict, reason = StatusVerdict.UNHEALTHY, StatusReason.LOAD_BALANCER_FAILED
        message = f"{counted}, but {endpoint.reason}"
    else:
        every = ready == len(servers)
        verdict = StatusVerdict.OK if every else StatusVerdict.DEGRADED
        reason = StatusReason.READY if every else StatusReason.SERVERS_UNHEALTHY
        message = f"{counted}; {_reached(endpoint)}"
    return ApiStatus(verdict=verdict, reason=reason, message=message, url=endpoint.url)


def _reached(endpoint: ApiEndpoint) -> str:
    return "ready through the load balancer" if endpoint.ready else f"load balancer {endpoint.reason}"
