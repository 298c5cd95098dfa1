"""Rotation of the pre-shared keys of IPsec tunnels between sites.

A rack's gateway accepts every key that it has for a tunnel, and presents the first of them. A cloud has one key for
each tunnel. So a gateway presents the new key before the cloud has it, and a tunnel that the cloud resets comes up
again at once. Tunnels are changed one after the other, so that another tunnel between the same two sites carries the
traffic.
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
from longhaul.rotate.overlap import ServerSubject
from longhaul.rotate.servers import distribute, outdated_machines
from longhaul.terminal.exits import CommandError
from longhaul.vault.rotation import RotationVault


@dataclass(frozen=True, kw_only=True)
class KeyedTunnel:
    """A tunnel's key in the state."""

    secret: str
    """Name of the secret in the vault."""
    resource: str
    """URN of the resource that reads the secret."""
    users: tuple[str, ...]
    """URNs of clouds' resources that get the key."""
    of_cloud: bool = False
    """True when the cloud made the first key itself."""


class TunnelEnds(Protocol):
    """Ends of all tunnels."""

    def tunnels(self) -> tuple[KeyedTunnel, ...]:
        """Return the tunnels. Raise ``CommandError`` when a tunnel has no key in the state yet."""

    def apply(self, resources: Iterable[str]) -> None:
        """Have the engine read keys again and change only these clouds' resources. Raise ``CommandError`` when that
        fails."""

    def settle_gateways(self) -> None:
        """Have the gateways of racks use the keys in the state, and wait until each has a tunnel to each site. Raise
        ``CommandError`` for the gateways that do not."""


def _nothing(_secret: str) -> bool:
    return False


@dataclass(kw_only=True)
class TunnelRotation(ServerSubject):
    """Rotation of the keys of all tunnels, as an ``overlap.RotationSubject``."""

    vault: RotationVault
    ends: TunnelEnds
    tell: Callable[[str], None]
    _handed: dict[str, str] = field(default_factory=dict)
    """Keys from the vault that this run has given to the gateways of racks, by secret."""

    name = TUNNELS
    reload_time = timedelta(0)
    signed_lifetime = timedelta(0)
    """Zero: an established tunnel does not ask for its key."""
    signed_words = "tunnels"

    def prepare(self) -> None:
        """Make a new key for each tunnel."""
        tunnels = self.ends.tunnels()
        if not tunnels:
            raise CommandError(f"{self.vault.environment.name} has no tunnels between sites")
        for tunnel in tunnels:
            if not self._next(tunnel):
                self.vault.write_text(next_secret(tunnel.secret), json.dumps({"key": issuing.new_tunnel_key()}))

    def trust(self) -> None:
        """Have gateways of racks accept the new keys. Skip tunnels whose key a cloud made: the cloud cannot accept two
        keys, and the gateway needs only the key that it presents."""
        for tunnel in self.ends.tunnels():
            if (new := self._next(tunnel)) and not tunnel.of_cloud:
                self.vault.change(tunnel.secret, self._keys(tunnel).trusting(new).text())

    def use(self) -> None:
        """Have the ends of each tunnel use the new key, one tunnel after the other: first the gateways of racks, then
        the cloud. API servers get the phase before that, since each tunnel takes minutes."""
        distribute(self.vault, _nothing, tell=self.tell)
        for tunnel in self.ends.tunnels():
            new = self._next(tunnel)
            if not new:
                continue
            keys = self._keys(tunnel)
            # A key from a cloud is not in the vault; a gateway gets it from the cloud as long as the cloud uses it.
            self.vault.change(tunnel.secret, (TunnelKeys(keys=(new,)) if tunnel.of_cloud else keys.using(new)).text())
            self._give([tunnel])
            if tunnel.users:
                self.ends.apply(tunnel.users)
            self.vault.change(next_secret(tunnel.secret), "{}")
            self.tell(f"{tunnel.secret}: both ends use the new key")

    def why_not_over(self, until: datetime) -> str:  # noqa: ARG002 - no end shows a former key any more
        """Return an empty text: established tunnels do not need the former key."""
        return ""

    def distrust(self) -> None:
        """Have only the new keys accepted."""
        for tunnel in self.ends.tunnels():
            if (keys := self._keys(tunnel)).others:
                self.vault.write_text(tunnel.secret, keys.alone().text())

    def distribute(self) -> None:
        """Give API servers the phase, and gateways of racks the vault's keys."""
        distribute(self.vault, _nothing, tell=self.tell)
        self._give(self.ends.tunnels())

    def outdated_machines(self) -> tuple[str, ...]:
        """Return the API servers that do not know yet that the rotation is over."""
        return outdated_machines(self.vault, self.name, _nothing)

    def end(self) -> None:
        """Do nothing: each new key was moved from its place when it came into use."""

    def _give(self, tunnels: Iterable[KeyedTunnel]) -> None:
        """Give the gateways of racks the keys of some tunnels, unless this run has already done so."""
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
