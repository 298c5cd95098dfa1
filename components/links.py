"""Links between sites: every pair, by a cloud's backbone or by IPsec, as the model plans them.

What a site is to links is said by its cloud (``links.py`` of each). IPsec asks one of two things of it: gateways whose
addresses are known before any link is (:class:`Holds`), or addresses and keys that come with each connection
(:class:`Dials`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network
from typing import Any, Protocol, runtime_checkable

import pulumi
from pulumi import ComponentResource, Output, ResourceOptions

from components.model import AddressPlan, Environment
from components.model.groups import cloud_name
from components.model.links import LinkKind, PlannedLink, links


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a site's end of links goes in the program."""

    environment: Environment
    addresses: AddressPlan
    site: str
    name: str
    """What its gateway is called in the program, if a link needs one."""
    parent: pulumi.Resource

    @property
    def opts(self) -> ResourceOptions:
        """Options of what is made there."""
        return ResourceOptions(parent=self.parent)

    def called(self, name: str) -> str:
        """What the cloud calls what the program calls ``name``."""
        return cloud_name(self.environment, name)

    def block(self, site: str) -> IPv4Network:
        """A site's block."""
        return self.addresses.sites[site].block


@dataclass(frozen=True, kw_only=True)
class Remote:
    """An address of the other end."""

    label: str
    """Unique at the other end."""
    address: pulumi.Input[str]


@dataclass(frozen=True, kw_only=True)
class Tunnel(Remote):
    """An address of the other end, and the key to it."""

    key: pulumi.Input[str]


@dataclass(frozen=True, kw_only=True)
class Gateway:
    """What has one key for each gateway of another site."""

    name: str = ""
    """Empty where the site has no other."""
    addresses: Sequence[pulumi.Input[str]]

    def remotes(self) -> Iterator[Remote]:
        """Its addresses, as the other end knows them."""
        for index, address in enumerate(self.addresses):
            yield Remote(label=self.name or str(index), address=address)


@runtime_checkable
class Holds(Protocol):
    """The end of a site whose gateways have addresses of their own."""

    def gateways(self) -> Sequence[Gateway]:
        """Its gateways, made when they are first asked for."""

    def hold(self, name: str, gateway: Gateway, far: str, tunnels: Sequence[Tunnel]) -> None:
        """Make a gateway's tunnels to a gateway of the site ``far``."""


@runtime_checkable
class Dials(Protocol):
    """The end of a site that gets addresses and keys with each connection."""

    def dial(self, name: str, far: str, remotes: Sequence[Remote]) -> Mapping[str, Sequence[Tunnel]]:
        """Connect to addresses of the site ``far``; by label of each, what the other end has to hold."""


@runtime_checkable
class Peers(Protocol):
    """The end of a site that its cloud's backbone connects to others of the same cloud."""

    def peer(self, name: str, far: Any) -> None:
        """Connect the two."""


End = Holds | Dials


@runtime_checkable
class Exports(Protocol):
    """The end of a site whose tunnels something else than the program makes."""

    def exported(self) -> Mapping[str, Output[list[dict[str, object]]]]:
        """By host name of each gateway, the tunnels it holds, secret."""


@dataclass(frozen=True, kw_only=True)
class LinksArgs:
    """What is to be linked."""

    environment: Environment
    addresses: AddressPlan
    ends: Mapping[str, Callable[[Place], End]]
    """By site, what makes its end."""
    tunnel_key: Callable[[str], pulumi.Input[str]]
    """Makes the pre-shared key of a connection whose ends both hold, given its name in the vault."""


class Links(ComponentResource):
    """Each link, and gateways where a site has an IPsec link."""

    onprem_tunnels: Mapping[str, Output[list[dict[str, object]]]]
    """By host name of each on-prem gateway, the tunnels it holds, secret: what Ansible renders."""

    def __init__(self, name: str, args: LinksArgs, opts: ResourceOptions | None = None) -> None:
        super().__init__("longhaul:Links", name, None, opts)
        self._name, self._args = name, args
        self._ends = {site: make(self._place(site)) for site, make in args.ends.items()}
        for link in links(args.environment):
            self._link(link)
        exporting = [end for end in self._ends.values() if isinstance(end, Exports)]
        self.onprem_tunnels = {host: held for end in exporting for host, held in end.exported().items()}
        self.register_outputs({})

    def _place(self, site: str) -> Place:
        return Place(
            environment=self._args.environment,
            addresses=self._args.addresses,
            site=site,
            name=f"{self._name}-{site}",
            parent=self,
        )

    def _link(self, link: PlannedLink) -> None:
        """Make one link, its ends in the order of their kinds: names that are there already have it."""
        sites = self._args.environment.sites
        first, second = sorted((link.first, link.second), key=lambda site: sites[site].kind)
        name = f"{self._name}-{link.name}"
        match link.kind, self._ends[first], self._ends[second]:
            case LinkKind.EXISTING, _, _:
                return
            case LinkKind.BACKBONE, Peers() as near, far:
                near.peer(name, far)
            case LinkKind.IPSEC, Holds() as near, Holds() as far:
                self._hold(name, first, near, second, far)
            case LinkKind.IPSEC, Dials() as near, Holds() as far:
                _dial(name, first, near, second, far)
            case LinkKind.IPSEC, Holds() as far, Dials() as near:
                _dial(name, second, near, first, far)
            case _:
                kinds = f"{sites[first].kind} and {sites[second].kind}"
                raise NotImplementedError(f"link {link.name}: {link.kind} between {kinds}")

    def _hold(self, name: str, first: str, near: Holds, second: str, far: Holds) -> None:
        """Both ends know the other's addresses: a key for each two gateways."""
        for own in near.gateways():
            for other in far.gateways():
                ends = "-".join(part for part in (first, own.name, second, other.name) if part)
                key = Output.secret(self._args.tunnel_key(f"tunnel-{ends}"))
                near.hold(name, own, second, _keyed(other.remotes(), key))
                far.hold(name, other, first, _keyed(own.remotes(), key))


def _keyed(remotes: Iterator[Remote], key: pulumi.Input[str]) -> list[Tunnel]:
    return [Tunnel(label=remote.label, address=remote.address, key=key) for remote in remotes]


def _dial(name: str, first: str, near: Dials, second: str, far: Holds) -> None:
    """One end gives addresses and keys to each connection: one for each address of the other. Where that is Azure, two
    connections in AWS, which gives each two tunnels, are four in Azure. (Of an Azure connection's two instances, only
    the one that AWS expects there comes up.) Azure documents several connections to one site with BGP alone: that one
    takes over from another with static routes was seen in the lab only."""
    remotes = [remote for gateway in far.gateways() for remote in gateway.remotes()]
    given = near.dial(name, second, remotes)
    for gateway in far.gateways():
        for remote in gateway.remotes():
            far.hold(f"{name}-{remote.label}", gateway, first, given[remote.label])
