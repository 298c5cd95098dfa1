"""Links between sites: each pair of sites is linked by a cloud's backbone or by IPsec, as the model plans.

Each cloud implements the ends of its sites (``links.py`` of each). For IPsec there are two kinds of ends: gateways
whose addresses are known before any link exists (:class:`Holds`), or ends that get addresses and keys with each
connection (:class:`Dials`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network
from itertools import islice
from typing import Any, Protocol, TypeVar, runtime_checkable

import pulumi
from pulumi import ComponentResource, Output, ResourceOptions

from components.model import AddressPlan, Environment
from components.model.network.links import LinkKind, PlannedLink, links, single_ends
from components.model.network.tunnel_keys import TunnelKeys
from components.model.sites.cloud_names import cloud_name

Item = TypeVar("Item")


@dataclass(frozen=True, kw_only=True)
class EndContext:
    """Place in the program where a site's end of its links is made."""

    environment: Environment
    addresses: AddressPlan
    site: str
    name: str
    """Name in the program of the site's gateway, if a link needs a gateway."""
    parent: pulumi.Resource

    @property
    def opts(self) -> ResourceOptions:
        """Return the options of resources that are made there."""
        return ResourceOptions(parent=self.parent)

    def called(self, name: str) -> str:
        """Return the name, in the cloud, of a resource that the program calls ``name``."""
        return cloud_name(self.environment, name)

    def block(self, site: str) -> IPv4Network:
        """Return a site's block."""
        return self.addresses.sites[site].block


@dataclass(frozen=True, kw_only=True)
class Remote:
    """An address of the other end."""

    label: str
    """Label, unique at the other end."""
    address: pulumi.Input[str]


@dataclass(frozen=True, kw_only=True)
class Tunnel(Remote):
    """An address of the other end, and the keys of the tunnel to it."""

    key: pulumi.Input[str]
    """Key in use."""
    others: pulumi.Input[Sequence[str]] = ()
    """Further keys that an end accepts, if it can, while the key is being replaced."""


@dataclass(frozen=True, kw_only=True)
class VaultTunnelKeys:
    """The vault's keys of a tunnel."""

    text: pulumi.Input[str]
    """The keys as the vault has them (components/model/network/tunnel_keys.py)."""
    made: Sequence[pulumi.Resource] = ()
    """Resource that holds the keys. A connection that makes its own key depends on this resource, so that a rotation
    can find which resources use which key."""

    def beside(self, cloud_key: pulumi.Input[str] = "") -> Output[TunnelKeys]:
        """Return the keys, followed by the cloud's key if it is not among them."""
        known = Output.all(text=self.text, cloud=cloud_key)
        return Output.secret(known.apply(lambda all: TunnelKeys.parse(f"{all['text']} {all['cloud']}").distinct()))


class MakesKeys(Protocol):
    """Function that makes the keys of a tunnel."""

    def __call__(self, secret: str, *, of_cloud: bool = False) -> VaultTunnelKeys:
        """``secret``: the keys' name in the vault; ``of_cloud``: a cloud makes the first key."""


@dataclass(frozen=True, kw_only=True)
class LinkGateway:
    """A gateway. It has one key for each gateway of another site."""

    name: str = ""
    """Name; empty when the site has only this gateway."""
    addresses: Sequence[pulumi.Input[str]]

    def remotes(self) -> Iterator[Remote]:
        """Yield the gateway's addresses in the form that the other end needs."""
        for index, address in enumerate(self.addresses):
            yield Remote(label=self.name or str(index), address=address)


@runtime_checkable
class Holds(Protocol):
    """The end of a site whose gateways have addresses of their own."""

    def gateways(self) -> Sequence[LinkGateway]:
        """Return the site's gateways, which are made when they are first requested."""

    def hold(self, name: str, gateway: LinkGateway, far: str, tunnels: Sequence[Tunnel]) -> None:
        """Make a gateway's tunnels to a gateway of the site ``far``."""


@runtime_checkable
class Dials(Protocol):
    """The end of a site that gets addresses and keys with each connection."""

    def dial(
        self, name: str, far: str, remotes: Sequence[Remote], keys: Callable[[str], VaultTunnelKeys]
    ) -> Mapping[str, Sequence[Tunnel]]:
        """Connect to addresses of the site ``far``. Return the tunnels that the other end has to make, by the label of
        each address. ``keys`` makes the keys of a tunnel, given the tunnel's label; at first there are none."""


@runtime_checkable
class Peers(Protocol):
    """The end of a site that its cloud's backbone connects to other sites of the same cloud."""

    def peer(self, name: str, far: Any) -> None:
        """Connect the two sites."""


End = Holds | Dials


@runtime_checkable
class Exports(Protocol):
    """The end of a site whose tunnels are made outside the program."""

    def exported(self) -> Mapping[str, Output[list[dict[str, object]]]]:
        """Return the tunnels of each gateway, by host name; they are secret."""


@dataclass(frozen=True, kw_only=True)
class LinksArgs:
    """Arguments of the links."""

    environment: Environment
    addresses: AddressPlan
    ends: Mapping[str, Callable[[EndContext], End]]
    """Functions that make the end of a site, by site."""
    tunnel_keys: MakesKeys
    """Function that makes the pre-shared keys of a connection."""


class Links(ComponentResource):
    """All links, and gateways where a site has an IPsec link."""

    onprem_tunnels: Mapping[str, Output[list[dict[str, object]]]]
    """Tunnels of each on-premises gateway, by host name; they are secret. Ansible renders them."""

    def __init__(self, name: str, args: LinksArgs, opts: ResourceOptions | None = None) -> None:
        super().__init__("longhaul:Links", name, None, opts)
        self._name, self._args = name, args
        self._ends = {site: make(self._place(site)) for site, make in args.ends.items()}
        for link in links(args.environment):
            self._link(link)
        exporting = [end for end in self._ends.values() if isinstance(end, Exports)]
        self.onprem_tunnels = {host: tunnels for end in exporting for host, tunnels in end.exported().items()}
        self.register_outputs({})

    def _place(self, site: str) -> EndContext:
        return EndContext(
            environment=self._args.environment,
            addresses=self._args.addresses,
            site=site,
            name=f"{self._name}-{site}",
            parent=self,
        )

    def _link(self, link: PlannedLink) -> None:
        """Make one link. Its ends are ordered by their sites' kinds, because the names of existing resources depend on
        that order."""
        sites = self._args.environment.sites
        first, second = sorted((link.first, link.second), key=lambda site: sites[site].kind)
        name, single = f"{self._name}-{link.name}", single_ends(self._args.environment, link)
        match link.kind, self._ends[first], self._ends[second]:
            case LinkKind.EXISTING, _, _:
                return
            case LinkKind.BACKBONE, Peers() as near, far:
                near.peer(name, far)
            case LinkKind.IPSEC, Holds() as near, Holds() as far:
                self._hold(name, first, near, second, far, single=single)
            case LinkKind.IPSEC, Dials() as near, Holds() as far:
                self._dial(name, first, near, second, far, single=second in single)
            case LinkKind.IPSEC, Holds() as far, Dials() as near:
                self._dial(name, second, near, first, far, single=first in single)
            case _:
                kinds = f"{sites[first].kind} and {sites[second].kind}"
                raise NotImplementedError(f"link {link.name}: {link.kind} between {kinds}")

    def _hold(self, name: str, first: str, near: Holds, second: str, far: Holds, *, single: Sequence[str]) -> None:
        """Make the tunnels between two ends that know each other's addresses, with one key for each pair of gateways. A
        ``single`` site connects to one address of one gateway; that gateway has a tunnel to each address of the
        site."""
        for gateway in _some(near.gateways(), first=second in single):
            for other in _some(far.gateways(), first=first in single):
                ends = "-".join(part for part in (first, gateway.name, second, other.name) if part)
                keys = self._args.tunnel_keys(f"tunnel-{ends}").beside()
                key, others = used_key(keys), trusted_keys(keys)
                near.hold(name, gateway, second, _keyed(_some(other.remotes(), first=first in single), key, others))
                far.hold(name, other, first, _keyed(_some(gateway.remotes(), first=second in single), key, others))

    def _dial(self, name: str, first: str, near: Dials, second: str, far: Holds, *, single: bool) -> None:
        """Connect an end that gets addresses and keys with each connection: one connection for each address of the
        other end. When the other end is ``single``, there is one connection, to its first address, and that end makes
        only the first of its tunnels. Otherwise two connections in AWS with two tunnels each become four in Azure; of
        Azure's two instances, only the one that AWS expects brings its tunnel up."""

        def keys(label: str) -> VaultTunnelKeys:
            return self._args.tunnel_keys(f"tunnel-{first}-{second}-{label}", of_cloud=True)

        pairs = [(gateway, remote) for gateway in far.gateways() for remote in gateway.remotes()]
        chosen = _some(pairs, first=single)
        given = near.dial(name, second, [remote for _, remote in chosen], keys)
        for gateway, remote in chosen:
            far.hold(f"{name}-{remote.label}", gateway, first, _some(given[remote.label], first=single))


def used_key(keys: Output[TunnelKeys]) -> Output[str]:
    """Return a tunnel's key in use, as a secret output."""
    return keys.apply(lambda known: known.used)


def trusted_keys(keys: Output[TunnelKeys]) -> Output[list[str]]:
    """Return the keys that a tunnel accepts besides the key in use, as a secret output."""
    return keys.apply(lambda known: list(known.others))


def _some(items: Iterable[Item], *, first: bool) -> list[Item]:
    """Return only the first item with ``first``, else all."""
    return list(islice(items, 1 if first else None))


def _keyed(remotes: Iterable[Remote], key: Output[str], others: Output[list[str]]) -> list[Tunnel]:
    return [Tunnel(label=remote.label, address=remote.address, key=key, others=others) for remote in remotes]
