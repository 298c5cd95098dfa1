"""Internet of the lab: its filter, and the cuts that drills make.

Like the real internet, the lab's internet carries no private addresses, so sites reach each other through tunnels only.
A cut drops all packets from and to a gateway, or between two gateways, until it is restored.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path

from lab.desired import DesiredMachine, World
from lab.hypervisor.commands import command
from lab.hypervisor.firewall import TABLE
from lab.hypervisor.namespaces import RUN
from lab.hypervisor.networks import INTERNET
from lab.state import read_json, write_atomically

PRIVATE = tuple(map(IPv4Network, ("10.0.0.0/8", "100.64.0.0/10", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16")))
"""Private ranges: RFC 1918, RFC 6598 and RFC 3927."""


@dataclass(frozen=True)
class Cut:
    """Drops packets between the ``near`` and the ``far`` addresses; an empty ``far`` stands for all addresses."""

    near: tuple[str, ...]
    far: tuple[str, ...] = ()


class Internet:
    """Rules of the internet's namespace. Cuts outlive the daemon."""

    def __init__(self) -> None:
        self._file: Path = RUN / "cuts.json"
        self._cuts = {
            name: Cut(tuple(value["near"]), tuple(value["far"]))
            for name, value in (read_json(self._file) or {}).items()
        }

    @property
    def cuts(self) -> Mapping[str, Cut]:
        """Cuts by the name that was given to :meth:`cut`."""
        return self._cuts

    async def ensure(self) -> None:
        """Apply the rules."""
        await command(INTERNET.inside(["nft", "-f", "-"]), stdin=render(tuple(self._cuts.values())))

    async def cut(self, name: str, cut: Cut) -> None:
        """Add a cut, which lasts until :meth:`restore` is called with the same name."""
        await self._take({**self._cuts, name: cut})

    async def restore(self, name: str) -> None:
        """Remove a cut."""
        await self._take({other: cut for other, cut in self._cuts.items() if other != name})

    async def _take(self, cuts: dict[str, Cut]) -> None:
        self._cuts = cuts
        write_atomically(self._file, json.dumps({name: {"near": c.near, "far": c.far} for name, c in cuts.items()}))
        await self.ensure()


def render(cuts: Sequence[Cut]) -> str:
    """Return the document for ``nft -f -``."""
    private = _set([str(range_) for range_ in PRIVATE])
    lines = [f"ip saddr {private} drop", f"ip daddr {private} drop"]
    for cut in cuts:
        near, far = _set(cut.near), _set(cut.far)
        lines.append(f"ip saddr {near}{f' ip daddr {far}' if far else ''} drop")
        lines.append(f"ip daddr {near}{f' ip saddr {far}' if far else ''} drop")
    body = "".join(f"\t\t{line}\n" for line in lines)
    chain = f"\tchain forward {{\n\t\ttype filter hook forward priority filter; policy accept;\n{body}\t}}\n"
    return f"table ip {TABLE}\ndelete table ip {TABLE}\ntable ip {TABLE} {{\n{chain}}}\n"


def _set(addresses: Sequence[str]) -> str:
    return f"{{ {', '.join(addresses)} }}" if addresses else ""


def find_cut(name: str, world: World) -> Cut:
    """Return the cut for ``GATEWAY``, ``GATEWAY/TUNNEL`` or ``GATEWAY/GATEWAY``; a machine with a public address counts
    as a gateway. Raises LookupError with the known gateways for an unknown name."""
    first, _, second = name.partition("/")
    for gateway in world.gateways:
        for tunnel in gateway.tunnels:
            if gateway.name == first and tunnel.name == second:
                return Cut((str(tunnel.local),), (str(tunnel.remote),))
    near = _addresses(first, world)
    return Cut(near, _addresses(second, world)) if second else Cut(near)


def _addresses(name: str, world: World) -> tuple[str, ...]:
    for gateway in world.gateways:
        if gateway.name == name:
            return _texts(gateway.addresses)
    known: dict[str, DesiredMachine] = {
        machine.name: machine for machine in world.machines if machine.public is not None
    }
    if name in known and (public := known[name].public) is not None:
        return _texts((public,))
    names = sorted([*(gateway.name for gateway in world.gateways), *known])
    raise LookupError(f"{name!r} is no gateway, nor a tunnel of one; there are {', '.join(names) or 'none'}")


def _texts(addresses: Sequence[IPv4Address]) -> tuple[str, ...]:
    return tuple(str(address) for address in sorted(addresses))
