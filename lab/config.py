"""Configuration of one lab. ``start`` writes the file; the lab's process 1 and its daemon read it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from ipaddress import AddressValueError, IPv4Address, IPv4Network, NetmaskValueError
from pathlib import Path
from typing import Any

from lab.hypervisor.addresses import OPERATOR_PUBLIC, OPERATORS_PUBLIC, AddressRanges
from lab.state import LabError, LabState, read_json, write_atomically


@dataclass(frozen=True, kw_only=True)
class LabConfig:
    """Configuration with which one lab was started."""

    rootfs: str
    """Root file system of machines whose image is not in ``images``; an absolute path."""
    bare_rootfs: str = ""
    """Root file system of the hosts; empty for ``rootfs``."""
    gateway_rootfs: str = ""
    """Root file system of the clouds' VPN gateways; empty for none, and then the gateways have no tunnels."""
    depot: str = ""
    """Folder that the depot serves; empty for no depot."""
    regions: tuple[str, ...] = ()
    """AWS regions of the environment."""
    stack: str = ""
    """Stack file of the environment, which declares its racks; empty for no racks."""
    operators: str
    """Range of the operators' addresses, from the environment's address plan."""
    supernet: str
    """Range of all private addresses of the environment."""
    operator_public: str = str(OPERATOR_PUBLIC)
    """Address of the operator on the lab's internet, which the environment's vault admits."""
    beside: str = ""
    """Environment whose lab this environment joins as a tenant; empty for an environment with its own lab."""
    api_address: str = ""
    """``address:port`` to which the loopback port connects; empty for none."""
    port: int
    images: Mapping[str, str] = field(default_factory=dict)
    """Maps image ids, as the clouds' users write them, to root file systems."""
    tools: str = ""
    """Folder of the pinned tools, for the operator's PATH; empty for none."""
    gpu_library: str = ""
    """Stand-in for the library of GPUs' driver; empty when no host has stand-ins for GPUs."""
    company: str = ""
    """Folder with the packages of the company's identity provider; empty for no company."""
    cloud: str = "lab.cloud.app:LabClouds"
    """``module:class`` of the clouds; tests use their own."""
    boot_timeout_s: float = 600.0
    delays: float = 0.0
    """Factor of the documented times of the clouds' operations: 0 for no delays, 1 for the full times."""

    def plan(self, tenant: str = "") -> AddressRanges:
        """Return the environment's ranges; ``tenant`` is its name when it is a tenant. Raise :class:`LabError` for an
        invalid range or address."""
        public = next((known for known in OPERATORS_PUBLIC if str(known) == self.operator_public), None)
        if public is None:
            places = f"{OPERATORS_PUBLIC[0]} to {OPERATORS_PUBLIC[-1]}"
            raise LabError(f"operator_public {self.operator_public!r}: operators of labs are at {places}")
        plan = AddressRanges(
            supernet=_range("--supernet", self.supernet),
            operators=_range("--operators", self.operators),
            public=public,
            tenant=tenant,
        )
        if plan.operators.num_addresses < 4:
            raise LabError(f"--operators {self.operators}: at least a /30 is needed")
        return plan

    def api(self) -> tuple[str, int] | None:
        """Return the API's address and port; None when there is none. Raise :class:`LabError` for a text that is not
        ``address:port``."""
        if not self.api_address:
            return None
        address, _, port = self.api_address.rpartition(":")
        try:
            return str(IPv4Address(address)), int(port)
        except ValueError as error:
            raise LabError(
                f"--api-address {self.api_address!r}: write ADDRESS:PORT, for example 10.0.0.4:6443"
            ) from error

    def check(self) -> None:
        """Raise :class:`LabError` for a configuration that cannot work."""
        self.plan()
        self.api()
        if not 0 <= self.delays <= 1:
            raise LabError(f"--delays {self.delays}: write a factor from 0 (no delays) to 1 (those of the clouds)")
        for root in filter(None, (self.rootfs, self.bare_rootfs, self.gateway_rootfs, *self.images.values())):
            if not (Path(root).is_absolute() and (Path(root) / "usr").is_dir()):
                raise LabError(
                    f"{root} is no root file system (there is no {root}/usr): bake it first, `make lab` does"
                )
            if ":" in root or "," in root:
                raise LabError(f"{root}: the path of a root file system may not hold ':' or ',' (overlayfs)")
        if self.depot and not Path(self.depot).is_dir():
            raise LabError(f"{self.depot}, the depot's folder, is not there: `make lab` fills it")
        if self.stack and not Path(self.stack).is_file():
            raise LabError(f"{self.stack}, the environment's stack file, is not there")

    def write(self, state: LabState) -> None:
        write_atomically(state.config_file, json.dumps(asdict(self), indent=1) + "\n")

    @classmethod
    def read(cls, state: LabState) -> LabConfig:
        """Read the written configuration. Raise :class:`LabError` when there is none."""
        value: dict[str, Any] | None = read_json(state.config_file)
        if value is None:
            raise LabError(
                f"{state.config_file} is missing or damaged: `{state.make('lab-down')}`, then `{state.make('lab')}`"
            )
        return cls(**{**value, "regions": tuple(value.get("regions", ()))})


def _range(option: str, text: str) -> IPv4Network:
    try:
        return IPv4Network(text)
    except (AddressValueError, NetmaskValueError, ValueError) as error:
        raise LabError(f"{option} {text!r}: write a range such as 10.64.0.0/12 ({error})") from error
