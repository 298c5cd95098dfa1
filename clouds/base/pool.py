"""A pool of nodes, as it is declared."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from clouds.base.section import GpuCheck, LabelKey, LabelValue, Name, Section


class Taint(Section):
    """A node taint."""

    key: LabelKey = Field(examples=["nvidia.com/gpu"])
    """The taint's key."""
    value: LabelValue = ""
    """The taint's value, may be empty."""
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"]
    """What happens to pods that do not tolerate it."""


class Pool(Section):
    """A group of like machines in one cloud site."""

    site: Name = Field(examples=["use1"])
    """A cloud site."""
    machine_type: str = Field(examples=["p5.48xlarge"])
    """A type of that cloud."""
    min: int = Field(default=0, ge=0)
    """Machines that always run."""
    max: int = Field(ge=1, le=7500)
    """Machines at most."""
    labels: dict[LabelKey, LabelValue] = Field(default_factory=dict)
    """Node labels."""
    taints: tuple[Taint, ...] = ()
    """Node taints."""
    spot: bool = False
    """Whether the machines are spare capacity that the cloud may take back."""
    priority: int = Field(default=100, ge=0, le=1000)
    """Pools of lower number are filled first."""
    fallbacks: tuple[Name, ...] = ()
    """Pools to overflow to when this one has no capacity, in order."""
    huge_pages_gib: int = Field(default=0, ge=0)
    """Memory of each machine that is set aside as huge pages of 1 GiB, GiB: pods ask for it as `hugepages-1Gi`, and
    nothing else can use it. At most nine tenths of the memory."""
    gpu_check: GpuCheck = ()
    """Program of the machines' image, with its arguments, that tries memory and compute of all GPUs at once before they
    get work: exit code 0 is good. Left out, they are tested by what they say of themselves."""
