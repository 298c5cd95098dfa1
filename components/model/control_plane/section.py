"""Section of the control plane in the environment file. The docstrings of fields are the reference documentation."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from clouds.base.replaces import Replaces
from clouds.base.section import LeftOut, Name, Section


class EtcdCluster(Section):
    """One etcd cluster: dedicated machines with local SSD."""

    members: Annotated[Literal[1, 3, 5, 7], Replaces.STATE]
    """Number of members, odd. Five members survive the loss of two; a single member survives no loss."""
    machine_type: Annotated[str, Replaces.ROLE] = Field(examples=["Standard_L8s_v3"])
    """Machine type of the members. It must have a local SSD."""
    quota_gib: Annotated[int, Replaces.ROLE] = Field(default=8, ge=2, le=8)
    """Size of the data, in GiB, at which the etcd cluster refuses further writes. etcd's own default of 2 stopped
    clusters of 1,000 nodes; etcd advises at most 8."""


class EtcdLearner(Section):
    """One more member of the main etcd cluster that never votes, with its data on a network disk.

    Members' local SSDs are lost with their machines. When all voting members are lost at once, the last backup is
    minutes old, but this member's data only seconds. No write waits for it. The events etcd cluster has none: events
    are kept for an hour, and nobody misses them after a disaster.
    """

    zone: str = Field(examples=["3"])
    """Availability zone of its machine and disk, one of the site's; best the zone with the fewest voting members. The
    disk cannot change its zone: for another zone, remove the learner from the file, and declare it again."""
    machine_type: str = Field(examples=["Standard_D16s_v5"])
    """Machine type of its machine. It needs no local SSD, but as much memory as the voting members have."""
    disk_gib: int = Field(default=64, ge=32, le=1024)
    """Size of its disk, in GiB: a Premium SSD v2. It must hold the largest `quota_gib`, the log, and a backup in
    progress. It can grow later, with the machine's next start, but not shrink."""


class MainEtcdCluster(EtcdCluster):
    """The main etcd cluster."""

    learner: Annotated[LeftOut[EtcdLearner], Replaces.LEARNER] = None
    """One more member, which never votes, on a network disk that outlives its machine."""


class ApiServers(Section):
    """Machines that run kube-apiserver, controller-manager and scheduler."""

    servers: Annotated[int, Replaces.STATE] = Field(ge=1, le=15)
    """Number of machines; about one for each 1,500 nodes."""
    machine_type: Annotated[str, Replaces.ROLE] = Field(examples=["Standard_D8s_v5"])
    """Machine type of the API servers."""
    port: Annotated[int, Replaces.STATE] = Field(default=6443, ge=1, le=65535)
    """Port of the API, on the load balancer and on the machines."""


class SyncLimits(Section):
    """Longest times of a synced write (fdatasync of 2,300 bytes) on the data disk of an etcd member."""

    median_ms: float = Field(ge=0.01, le=1000, examples=[0.3])
    """Longest median, in milliseconds."""
    p99_ms: float = Field(ge=0.01, le=10_000, examples=[2.0])
    """Longest 99th percentile, in milliseconds. etcd requires less than 10."""


class ControlPlane(Section):
    """Site and size of the control plane."""

    site: Annotated[Name, Replaces.STATE] = Field(examples=["weu"])
    """Site of the control plane. It must be on Azure; AWS is not supported yet."""
    etcd: MainEtcdCluster
    """The main etcd cluster."""
    events: EtcdCluster
    """The etcd cluster for events only, so that a storm of events cannot stall the main one."""
    api: ApiServers
    """The API servers."""
    sync_limits: Annotated[LeftOut[SyncLimits], Replaces.ETCD | Replaces.EVENTS] = None
    """Longest times of synced writes on an etcd member's data disk. A member measures its disk when it first boots, and
    does not join with a slower one. If left out, the limits are 0.3 ms for the median and 2 ms for the 99th percentile,
    which local NVMe disks meet and network disks do not."""
    round_trip_ms: Annotated[float, Replaces.NOTHING] = Field(default=2, gt=0, le=500, examples=[2.0])
    """Longest round trip between two zones of the control plane, in milliseconds; Azure names about 2. etcd's heartbeat
    and election times follow it; up to 66 ms they are etcd's defaults."""
