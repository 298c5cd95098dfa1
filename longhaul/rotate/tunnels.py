"""Rotation of the pre-shared keys of IPsec tunnels between sites.

Gateways of racks believe any key of a tunnel that they have, and show the first; a cloud has one key for each. So a
gateway shows the new key before the cloud has it, and a tunnel that the cloud takes down comes up again at once. One
tunnel after the other, so that of several between two sites one carries.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Protocol

from components.control_plane import issuing
from components.model.network.tunnel_keys import TUNNELS, TunnelKeys
from components.model.secrets.vault import next_secret
from longhaul.rotate.overlap import OfServers
from longhaul.rotate.servers import behind, hand_out
from longhaul.terminal.exits import CommandError
from longhaul.vault.rotation import RotationVault


@dataclass(frozen=True, kw_only=True)
class KeyedTunnel:
    """Keys of a tunnel, as the state has them."""

    secret: str
    """Name of the vault's secret."""
    resource: str
    """Resource that reads it."""
    users: tuple[str, ...]
    """Resources of clouds that are given the key."""
    of_cloud: bool = False
    """True where a cloud made the first key itself."""


class Ends(Protocol):
    """Ends of all tunnels."""

    def tunnels(self) -> tuple[KeyedTunnel, ...]:
        """Return the tunnels; ``CommandError`` when one is not known yet."""

    def apply(self, resources: Iterable[str]) -> None:
        """Have the engine read keys again and change resources of clouds, nothing else; ``CommandError`` when that
        fails."""

    def settle_gateways(self) -> None:
        """Have the gateways of racks take the keys that the state has, and wait until each has a tunnel to each site;
        ``CommandError`` for those that have not."""


def _nothing(_secret: str) -> bool:
    return False


@dataclass(kw_only=True)
class TunnelRotation(OfServers):
    """The keys of all tunnels, as an ``overlap.Subject``."""

    vault: RotationVault
    ends: Ends
    tell: Callable[[str], None]
    _handed: dict[str, str] = field(default_factory=dict)
    """The vault's keys that all ends have, by secret, as far as this run knows."""

    name = TUNNELS
    learn = timedelta(0)
    life = timedelta(0)
    """A tunnel that is up asks for no key."""
    signed = "tunnels"

    def prepare(self) -> None:
        """Make a new key for each tunnel."""
        tunnels = self.ends.tunnels()
        if not tunnels:
            raise CommandError(f"{self.vault.environment.name} has no tunnels between sites")
        for tunnel in tunnels:
            if not self._next(tunnel):
                self.vault.write_text(next_secret(tunnel.secret), json.dumps({"key": issuing.new_tunnel_key()}))

    def trust(self) -> None:
        """Have gateways of racks believe the new keys. Where a cloud made the key it cannot believe two, and the
        gateway needs no more than the key that it is to show."""
        for tunnel in self.ends.tunnels():
            if (new := self._next(tunnel)) and not tunnel.of_cloud:
                self.vault.change(tunnel.secret, self._keys(tunnel).trusting(new).text())

    def use(self) -> None:
        """Have the ends of one tunnel after the other use the new key: first the gateways of racks, then the cloud.
        API servers tell the phase before that, since it takes minutes for each."""
        hand_out(self.vault, _nothing, tell=self.tell)
        for tunnel in self.ends.tunnels():
            new = self._next(tunnel)
            if not new:
                continue
            keys = self._keys(tunnel)
            # A cloud's own key is not in the vault; a gateway has it from the cloud as long as that has it.
            self.vault.change(tunnel.secret, (TunnelKeys(keys=(new,)) if tunnel.of_cloud else keys.using(new)).text())
            self._give([tunnel])
            if tunnel.users:
                self.ends.apply(tunnel.users)
            self.vault.change(next_secret(tunnel.secret), "{}")
            self.tell(f"{tunnel.secret}: both ends use the new key")

    def why_not_over(self, until: datetime) -> str:  # noqa: ARG002 - no end shows a former key any more
        """Return nothing."""
        return ""

    def distrust(self) -> None:
        """Have the new keys alone believed."""
        for tunnel in self.ends.tunnels():
            if (keys := self._keys(tunnel)).others:
                self.vault.write_text(tunnel.secret, keys.alone().text())

    def hand_out(self) -> None:
        """Have API servers tell the phase, and gateways of racks take the keys that the vault has."""
        hand_out(self.vault, _nothing, tell=self.tell)
        self._give(self.ends.tunnels())

    def behind(self) -> tuple[str, ...]:
        """Return the API servers that have not learnt yet that it is over."""
        return behind(self.vault, self.name, _nothing)

    def end(self) -> None:
        """Do nothing: each new key has left its place when it came into use."""

    def _give(self, tunnels: Iterable[KeyedTunnel]) -> None:
        """Have the gateways of racks take the keys of some tunnels, unless this run has had them take those already."""
        now = {tunnel.secret: self._keys(tunnel).text() for tunnel in tunnels}
        new = [tunnel for tunnel in tunnels if self._handed.get(tunnel.secret) != now[tunnel.secret]]
        if new:
            self.ends.apply(tunnel.resource for tunnel in new)
            self.ends.settle_gateways()
            self._handed |= now

    def _keys(self, tunnel: KeyedTunnel) -> TunnelKeys:
        return TunnelKeys.parse(self.vault.text(tunnel.secret))

    def _next(self, tunnel: KeyedTunnel) -> str:
        return str(json.loads(self.vault.text(next_secret(tunnel.secret)) or "{}").get("key", ""))
