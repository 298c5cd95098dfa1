"""Sizes of a control plane that ``longhaul init`` offers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class SizeAnswer:
    """Size of a control plane."""

    members: int
    """Number of members of each of the two etcd clusters."""
    servers: int
    """Number of API servers."""
    etcd_type: str
    """Azure machine type of the main etcd cluster's members: one with local SSD."""
    events_type: str
    """Azure machine type of the events etcd cluster's members."""
    api_type: str

    def __str__(self) -> str:
        return f"{self.members}/{self.members}/{self.servers}"


SIZES: Mapping[str, SizeAnswer] = {
    "trial": SizeAnswer(
        members=1,
        servers=1,
        etcd_type="Standard_L8s_v3",
        events_type="Standard_L8s_v3",
        api_type="Standard_D4s_v5",
    ),
    "standard": SizeAnswer(
        members=3,
        servers=2,
        etcd_type="Standard_L8s_v3",
        events_type="Standard_L8s_v3",
        api_type="Standard_D8s_v5",
    ),
    "large": SizeAnswer(
        members=5,
        servers=5,
        etcd_type="Standard_L16s_v3",
        events_type="Standard_L8s_v3",
        api_type="Standard_D32s_v5",
    ),
}
"""Sizes by name. `standard` has the machine types of the lab's environment, `large` those of the production example."""
