"""Section of the control plane in the environment file. The docstrings of fields are the reference documentation."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from clouds.base.replaces import Replaces
from clouds.base.section import LeftOut, Name, Section
from components.model.control_plane.etcd import EtcdCluster, MainEtcdCluster, SyncLimits

MOST_SERVERS = 15
"""Largest number of API servers."""


class ApiServers(Section):
    """Machines that run kube-apiserver, controller-manager and scheduler."""

    servers: Annotated[int, Replaces.STATE] = Field(ge=1, le=MOST_SERVERS)
    """Number of machines; about one for each 1,500 nodes."""
    machine_type: Annotated[str, Replaces.ROLE] = Field(examples=["Standard_D8s_v5"])
    """Machine type of the API servers."""
    port: Annotated[int, Replaces.STATE] = Field(default=6443, ge=1, le=65535)
    """Port of the API, on the load balancer and on the machines."""


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
    does not join with a slower disk. If left out, the limits are 0.3 ms for the median and 2 ms for the 99th
    percentile, which local NVMe disks meet and network disks do not."""
    round_trip_ms: Annotated[float, Replaces.NOTHING] = Field(default=2, gt=0, le=500, examples=[2.0])
    """Longest round trip between two zones of the control plane, in milliseconds; Azure names about 2. etcd's heartbeat
    and election times follow it; up to 66 ms they are etcd's defaults."""
