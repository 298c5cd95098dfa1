"""A node pool in the environment file."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from clouds.base.section import GpuCheck, LabelKey, LabelValue, Name, Section


class Taint(Section):
    """A node taint."""

    key: LabelKey = Field(examples=["nvidia.com/gpu"])
    """Key of the taint."""
    value: LabelValue = ""
    """Value of the taint; may be empty."""
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"]
    """Effect on pods that do not tolerate the taint."""


class Pool(Section):
    """A group of like machines in one site in a cloud."""

    site: Name = Field(examples=["use1"])
    """Name of a site in a cloud."""
    machine_type: str = Field(examples=["p5.48xlarge"])
    """Machine type of that cloud."""
    min: int = Field(default=0, ge=0)
    """Number of machines that always run."""
    max: int = Field(ge=1, le=7500)
    """Largest number of machines."""
    labels: dict[LabelKey, LabelValue] = Field(default_factory=dict)
    """Node labels."""
    taints: tuple[Taint, ...] = ()
    """Node taints."""
    spot: bool = False
    """True when the machines are spare capacity that the cloud may take back at any time."""
    priority: int = Field(default=100, ge=0, le=1000)
    """Priority of the pool: pools with a lower number are filled first."""
    fallbacks: tuple[Name, ...] = ()
    """Pools to use instead when this one has no capacity, in order."""
    huge_pages_gib: int = Field(default=0, ge=0)
    """Memory of each machine that is reserved as huge pages of 1 GiB, in GiB. Pods request it as `hugepages-1Gi`, and
    it cannot be used for anything else. At most nine tenths of the memory."""
    gpu_check: GpuCheck = ()
    """Program in the machines' image, with its arguments, that tests memory and compute of all GPUs at once before a
    machine gets work. Exit code 0 means healthy. Left out, GPUs are judged only by the data that they report about
    themselves."""
