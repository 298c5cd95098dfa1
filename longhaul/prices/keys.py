"""What has a price: a machine of a type, a part of a network, a host in a rack."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from components.model.machine_types import CloudKind

Part = Literal["load-balancer", "nat-gateway", "public-address", "vpn-connection", "vpn-gateway"]
"""Parts of a site's network that a cloud charges for by the hour."""

CLOUD_NAMES = {"azure": "Azure", "aws": "AWS"}
_PART_NAMES: dict[str, str] = {
    "load-balancer": "load balancer",
    "nat-gateway": "NAT gateway",
    "public-address": "public address",
    "vpn-connection": "VPN connection",
    "vpn-gateway": "VPN gateway",
}


@dataclass(frozen=True, kw_only=True, order=True)
class MachineKey:
    """A machine type in one region of its cloud."""

    cloud: CloudKind
    region: str
    machine_type: str
    spot: bool = False
    """Whether it is spare capacity that the cloud may take back."""

    def __str__(self) -> str:
        return f"{self.machine_type}{' spot' if self.spot else ''}, {CLOUD_NAMES[self.cloud]} {self.region}"

    def on_demand(self) -> MachineKey:
        """The same machine, not as spare capacity."""
        return MachineKey(cloud=self.cloud, region=self.region, machine_type=self.machine_type)


@dataclass(frozen=True, kw_only=True, order=True)
class PartKey:
    """A part of a network in one region of a cloud."""

    cloud: CloudKind
    region: str
    part: Part

    def __str__(self) -> str:
        return f"{part_name(self.part)}, {CLOUD_NAMES[self.cloud]} {self.region}"


@dataclass(frozen=True, kw_only=True, order=True)
class HostKey:
    """A bare-metal host of one on-prem site; hosts of a site cost alike."""

    site: str

    def __str__(self) -> str:
        return f"host, {self.site}"


Key = MachineKey | PartKey | HostKey


def part_name(part: Part) -> str:
    """A part in words, such as ``NAT gateway``."""
    return _PART_NAMES[part]
