"""Files of an etcd member. Settings that are the same on every member are in the unit,
images/rootfs/etc/systemd/system/etcd.service."""

from __future__ import annotations

from components.model import AddressPlan, Environment, Machine, Role
from components.model.control_plane.etcd import SyncLimits
from components.model.control_plane.size import RAFT_DEFAULTS, raft_times
from components.model.secrets.certificates import ETCD_CLIENT
from components.model.secrets.vault import etcd_state_secret
from components.render.documents import environment_file
from components.render.etcd_members import places
from components.render.file import File
from components.render.secrets import certificate, trust
from contract.documents.etcd_disk import DISK_PATH, LIMITS_PATH, Limits, lun_text
from contract.documents.node import PATH as NODE
from contract.documents.node import NodeConfig
from contract.documents.secret_files import SecretFile
from contract.paths import PKI
from contract.ports import ETCD_CLIENT_PORT, ETCD_PEER_PORT

USER = "etcd"
LUN = 0
"""Logical unit number at which the learner's data disk is attached."""

NETWORK_LIMITS = SyncLimits(median_ms=5, p99_ms=10)
"""Longest times of a sync on a network disk: no write of the cluster waits for the learner's disk, so etcd's own
requirement is enough, a 99th percentile below 10 ms (etcd.io, "FAQ")."""

GIB = 2**30

NO_QUOTA = -1
"""Value that turns the quota off (etcd 3.6 and 3.7, server/storage/quota.go, ``NewBackendQuota``)."""


def files(environment: Environment, addresses: AddressPlan, machine: Machine) -> dict[str, File]:
    """Return the member's environment file, its ``node.json``, and the limits of its disk if they are declared. The
    learner always has limits, and a file about its network disk. The learner's name and address are in its own files
    alone: no other machine changes with it."""
    stores, limits = places(environment, addresses, machine.role), environment.control_plane.sync_limits
    if machine.is_learner:
        stores[machine.name] = str(machine.address)
        limits = _of_network_disk(limits)
    node = NodeConfig(
        machine=machine.name,
        role=str(machine.role),
        index=machine.index,
        address=str(machine.address),
        version=environment.versions.etcd,
        state_secret=etcd_state_secret(machine.role),
        stores={str(machine.role): stores},
        learner=machine.is_learner,
    )
    return {
        # Left out when no limits are declared: one more file would change the user-data, and so replace the machine.
        **({LIMITS_PATH: File(content=Limits(**limits.model_dump()).to_text())} if limits else {}),
        **({DISK_PATH: File(content=lun_text(LUN))} if machine.disk_gib else {}),
        "/etc/longhaul/etcd.env": File(content=environment_file(_settings(environment, machine))),
        str(NODE): File(content=node.to_text()),
    }


def _of_network_disk(declared: SyncLimits | None) -> SyncLimits:
    """Return the limits of a network disk: the declared ones if these are less strict."""
    if declared is None:
        return NETWORK_LIMITS
    return SyncLimits(
        median_ms=max(declared.median_ms, NETWORK_LIMITS.median_ms), p99_ms=max(declared.p99_ms, NETWORK_LIMITS.p99_ms)
    )


def secret_files(
    environment: Environment,  # noqa: ARG001  (as its neighbours)
    machine: Machine,
) -> tuple[SecretFile, ...]:
    """Return the secrets that the member fetches. etcd uses a changed certificate from the next connection on, but
    reads an authority only at its start (etcd 3.6, client/pkg/transport/listener.go): `longhaul rotate` restarts
    members, one at a time. The member's clients are API servers, and members of its own etcd cluster."""
    return (
        certificate(machine, "member", user=USER),
        certificate(machine, "client", user=USER),
        trust(f"{PKI}/etcd-ca.crt", str(machine.role)),
        trust(f"{PKI}/etcd-client-ca.crt", ETCD_CLIENT, str(machine.role)),
    )


def _settings(environment: Environment, machine: Machine) -> dict[str, str]:
    """Return the settings that differ between members or etcd clusters. All others are etcd's defaults."""
    control = environment.control_plane
    settings = control.etcd if machine.role is Role.ETCD else control.events
    client = f"https://{machine.address}:{ETCD_CLIENT_PORT}"
    peer = f"https://{machine.address}:{ETCD_PEER_PORT}"
    return {
        "ETCD_NAME": machine.name,
        "ETCD_INITIAL_CLUSTER_TOKEN": f"{environment.name}-{machine.role}",
        "ETCD_LISTEN_CLIENT_URLS": client,
        "ETCD_ADVERTISE_CLIENT_URLS": client,
        "ETCD_LISTEN_PEER_URLS": peer,
        "ETCD_INITIAL_ADVERTISE_PEER_URLS": peer,
        # The learner's database cannot be defragmented while it runs, and its alarm would stop all writes. Members'
        # quotas limit what is stored.
        "ETCD_QUOTA_BACKEND_BYTES": str(NO_QUOTA if machine.is_learner else settings.quota_gib * GIB),
        **_times(control.round_trip_ms),
    }


def _times(round_trip_ms: float) -> dict[str, str]:
    """Return the heartbeat and election times in milliseconds; empty when they are etcd's defaults."""
    times = raft_times(round_trip_ms)
    if times == RAFT_DEFAULTS:
        return {}
    return {
        "ETCD_HEARTBEAT_INTERVAL": str(times.heartbeat_ms),
        "ETCD_ELECTION_TIMEOUT": str(times.election_ms),
    }
