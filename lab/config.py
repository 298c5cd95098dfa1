"""What one lab was started with: written by ``start``, read by its process 1 and daemon."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from ipaddress import AddressValueError, IPv4Address, IPv4Network, NetmaskValueError
from pathlib import Path
from typing import Any

from lab.hypervisor.addresses import OPERATOR_PUBLIC, OPERATORS_PUBLIC, Plan
from lab.state import LabError, LabState, read_json, write_atomically


@dataclass(frozen=True, kw_only=True)
class LabConfig:
    """Frozen parameters of one lab."""

    rootfs: str
    """Root file system of machines whose image is none of ``images``; absolute."""
    bare_rootfs: str = ""
    """Root file system of the racks' machines; empty for ``rootfs``."""
    gateway_rootfs: str = ""
    """Root file system of the clouds' VPN gateways; without one there are no tunnels to them."""
    depot: str = ""
    """Folder that the depot serves; empty for no depot."""
    regions: tuple[str, ...] = ()
    """AWS's regions that the environment is in."""
    stack: str = ""
    """The environment's stack file, which says what stands in racks; empty for no racks."""
    operators: str
    """Range of the operators' addresses, from the environment's plan."""
    supernet: str
    """The environment's whole private range."""
    operator_public: str = str(OPERATOR_PUBLIC)
    """The operator's address on the lab's internet, which the environment's vault admits."""
    beside: str = ""
    """The environment in whose lab this one is; empty for a lab of its own."""
    api_address: str = ""
    """``address:port`` that the host's loopback port leads to; empty for nowhere."""
    port: int
    images: Mapping[str, str] = field(default_factory=dict)
    """Image ids as the clouds' users name them, to root file systems."""
    tools: str = ""
    """Folder of the pinned tools, for the operator's PATH; empty for none."""
    cloud: str = "lab.cloud.app:Cloud"
    """``module:class`` of the clouds; tests bring their own."""
    boot_timeout_s: float = 600.0

    def plan(self, guest: str = "") -> Plan:
        """The ranges, of the environment ``guest`` when the lab is another's; raises :class:`LabError` for a text that
        is none."""
        public = next((known for known in OPERATORS_PUBLIC if str(known) == self.operator_public), None)
        if public is None:
            places = f"{OPERATORS_PUBLIC[0]} to {OPERATORS_PUBLIC[-1]}"
            raise LabError(f"operator_public {self.operator_public!r}: operators of labs are at {places}")
        plan = Plan(
            supernet=_range("--supernet", self.supernet),
            operators=_range("--operators", self.operators),
            public=public,
            guest=guest,
        )
        if plan.operators.num_addresses < 4:
            raise LabError(f"--operators {self.operators}: at least a /30 is needed")
        return plan

    def api(self) -> tuple[str, int] | None:
        """Where the API is; raises :class:`LabError` for a text that is no ``address:port``."""
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
        """Raise :class:`LabError` for what cannot work."""
        self.plan()
        self.api()
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
        """The written parameters; raises :class:`LabError` when there are none."""
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
