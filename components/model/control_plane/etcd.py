"""Both etcd clusters in the environment file: members, size of the data, learner, speed of the disks. The docstrings of
fields are the reference documentation."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from clouds.base.replaces import Replaces
from clouds.base.section import LeftOut, Section


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
    minutes old, but this member's data only seconds. No write waits for it. The events etcd cluster has no learner:
    events are kept for an hour, and nobody misses them after a disaster.
    """

    zone: str = Field(examples=["3"])
    """Availability zone of its machine and disk, one of the site's zones. The zone with the fewest voting members is
    best. The disk cannot change its zone: for another zone, remove the learner from the file, and declare it again."""
    machine_type: str = Field(examples=["Standard_D16s_v5"])
    """Machine type of its machine. It needs no local SSD, but as much memory as the voting members have."""
    disk_gib: int = Field(default=64, ge=32, le=1024)
    """Size of its disk, in GiB: a Premium SSD v2. It must hold the largest `quota_gib`, the log, and a backup in
    progress. It can grow later, with the machine's next start, but not shrink."""


class MainEtcdCluster(EtcdCluster):
    """The main etcd cluster."""

    learner: Annotated[LeftOut[EtcdLearner], Replaces.LEARNER] = None
    """One more member, which never votes, on a network disk that outlives its machine."""


class SyncLimits(Section):
    """Longest times of a synced write (fdatasync of 2,300 bytes) on the data disk of an etcd member."""

    median_ms: float = Field(ge=0.01, le=1000, examples=[0.3])
    """Longest median, in milliseconds."""
    p99_ms: float = Field(ge=0.01, le=10_000, examples=[2.0])
    """Longest 99th percentile, in milliseconds. etcd requires less than 10."""
