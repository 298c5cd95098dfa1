"""Public addresses of the machines of the laptops' VPN, and a note of them in the vault, from which laptops are told
where the machines are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pulumi
from pulumi import Output, ResourceOptions

from components.azure.laptops import public_address
from components.control_plane.secrets import VaultSetting
from components.model import Environment, Machine
from components.model.secrets.vault import VPN_REMOTES
from components.model.vpn.section import remotes


class Doors:
    """Public addresses of the VPN machines."""

    ids: Mapping[str, Output[str]]
    """Id of each machine's address in its cloud, by machine."""
    addresses: Mapping[str, Output[str]]
    """Each machine's address."""
    setting: VaultSetting
    """The note of them in the vault."""

    def __init__(
        self,
        environment: Environment,
        machines: Sequence[Machine],
        *,
        group: pulumi.Input[str],
        vault_url: str,
        opts: ResourceOptions,
        writes: ResourceOptions,
    ) -> None:
        """``writes``: options of what is written into the vault."""
        name = environment.vpn.name if environment.vpn else None
        made = {machine.name: public_address(environment, machine, group=group, opts=opts) for machine in machines}
        self.ids = {name: one.id for name, one in made.items()}
        self.addresses = {name: one.ip_address.apply(lambda known: known or "") for name, one in made.items()}
        self.setting = VaultSetting(
            f"{environment.name}-{VPN_REMOTES}",
            secret=VPN_REMOTES,
            value=Output.all(*self.addresses.values()).apply(lambda known: remotes(name, known)),
            vault_url=vault_url,
            opts=writes,
        )
