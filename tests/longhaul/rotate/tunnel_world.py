"""Tunnels of every kind: ends in clouds, which have one key, and gateways of racks, which believe several."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from components.model import Environment
from components.model.network.tunnel_keys import TUNNELS, TunnelKeys
from longhaul.rotate.overlap import RotationSubject
from longhaul.rotate.tunnels import KeyedTunnel, TunnelRotation
from tests.longhaul.rotate.overlap_world import World


@dataclass
class Ends:
    """Both ends of a tunnel."""

    secret: str
    clouds: tuple[str, ...]
    """Clouds that have its key, each of which gets it after the one before."""
    gateways: tuple[str, ...]
    """Gateways of racks."""
    of_cloud: bool = False
    read: str = ""
    """The keys as the state has them."""
    held: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """The keys that an end has; it shows the first and believes all."""

    def comes_up(self) -> bool:
        """Return whether each end believes what the other shows."""
        first, second = self.held.values()
        return first[0] in second and second[0] in first

    def wanted(self) -> tuple[str, ...]:
        """Return the keys that a gateway is to have: the vault's, and the cloud's own."""
        cloud = self.held[self.clouds[0]] if self.of_cloud else ()
        return tuple(dict.fromkeys((*TunnelKeys.parse(self.read).keys, *cloud)))

    def give_cloud(self, cloud: str) -> None:
        """Have a cloud take its key: the vault's, else its own, or that of the cloud before."""
        before = self.clouds[: self.clouds.index(cloud)]
        if before:
            self.held[cloud] = self.held[before[-1]]
        elif used := TunnelKeys.parse(self.read).used:
            self.held[cloud] = (used,)


def every_kind() -> tuple[Ends, ...]:
    """Return a tunnel of each kind, and a second one between two of the sites."""
    return (
        Ends("tunnel-weu-rack-gw-0", clouds=("azure",), gateways=("gw-0",)),
        Ends("tunnel-weu-rack-gw-1", clouds=("azure",), gateways=("gw-1",)),
        Ends("tunnel-rack-gw-0-far-gw", clouds=(), gateways=("gw-0", "far-gw")),
        Ends("tunnel-use1-rack-gw-0-0", clouds=("aws",), gateways=("gw-0",), of_cloud=True),
        Ends("tunnel-use1-rack-gw-0-1", clouds=("aws",), gateways=("gw-0",), of_cloud=True),
        Ends("tunnel-use1-weu-0-0", clouds=("aws", "azure"), gateways=(), of_cloud=True),
    )


class TunnelWorld(World):
    """An environment with tunnels of every kind."""

    def __init__(self, environment: Environment, first: Mapping[str, str], ends: Iterable[Ends] | None = None) -> None:
        super().__init__(environment, TUNNELS, first)
        self.ends = {one.secret: one for one in (every_kind() if ends is None else ends)}
        self.former = set[str]()
        self.busy = False
        """True where `longhaul up` runs before each step."""
        for one in self.ends.values():
            key = f"former-{one.secret}"
            self.former.add(key)
            if not one.of_cloud:
                self.vault[one.secret] = one.read = key
            one.held = dict.fromkeys((*one.clouds, *one.gateways), (key,))

    @cached_property
    def subject(self) -> RotationSubject:
        return TunnelRotation(vault=self.record, ends=self, tell=self.told.append)

    def tunnels(self) -> tuple[KeyedTunnel, ...]:
        return tuple(
            KeyedTunnel(secret=one.secret, resource=one.secret, users=self._users(one), of_cloud=one.of_cloud)
            for one in self.ends.values()
        )

    def _users(self, one: Ends) -> tuple[str, ...]:
        return tuple(f"{one.secret}/{cloud}" for cloud in one.clouds)

    def apply(self, resources: Iterable[str]) -> None:
        for resource in resources:
            secret, _, cloud = resource.partition("/")
            self.step()
            if cloud:
                self.ends[secret].give_cloud(cloud)
            else:
                self.ends[secret].read = self.vault.get(secret, "")
            # Between the two clouds of a tunnel the engine does not stop for anybody.
            if cloud != "aws" or self.ends[secret].clouds == ("aws",):
                self.check()

    def settle_gateways(self) -> None:
        for one in self.ends.values():
            for gateway in one.gateways:
                self.step()
                one.held[gateway] = one.wanted()
                self.check()
        assert all(one.comes_up() or one.clouds for one in self.ends.values())

    def up(self) -> None:
        """Run `longhaul up`: clouds get what the state has, then gateways do."""
        for one in self.ends.values():
            for cloud in one.clouds:
                one.give_cloud(cloud)
        for one in self.ends.values():
            one.held |= {gateway: one.wanted() for gateway in one.gateways}
        assert all(one.comes_up() for one in self.ends.values())

    def step(self) -> None:
        super().step()
        if self.busy:
            self.up()

    def check(self) -> None:
        """At most one tunnel would not come up again if it went down now, and none between gateways of racks."""
        down = [one for one in getattr(self, "ends", {}).values() if not one.comes_up()]
        assert len(down) <= 1, f"{[one.secret for one in down]} would not come up"
        assert all(one.clouds for one in down)

    def is_replaced(self) -> bool:
        """Return whether each end has one key, the same as the other, and no former one is anywhere."""
        held = [keys for one in self.ends.values() for keys in one.held.values()]
        kept = {key for one in self.ends for key in TunnelKeys.parse(self.vault.get(one)).keys}
        return (
            all(len(keys) == 1 for keys in held)
            and {key for keys in held for key in keys} == kept
            and len(kept) == len(self.ends)
            and not kept & self.former
        )
