"""What an environment allows: every exception to a rule that needs no waiver is something that its file declares."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from ipaddress import IPv4Network, IPv6Network, ip_network

from clouds.aws.made import made_zones
from clouds.aws.site import AwsSite
from clouds.azure.made import makes_egress
from clouds.azure.site import AzureSite
from clouds.registry import cloud_of
from components.model import Environment
from components.model.links import AZURE_ADDRESSES, LinkKind, links
from components.model.places import place_of
from components.model.waivers import Waiver

Network = IPv4Network | IPv6Network


@dataclass(frozen=True, kw_only=True)
class Declared:
    """What the environment file says, as far as a rule asks."""

    environment: str
    sites: frozenset[str]
    """Names of its sites."""
    tags: Mapping[str, str]
    """Its own tags, which every resource is to have besides Longhaul's."""
    supernet: IPv4Network
    """Every address of the environment is in it."""
    operators: tuple[IPv4Network, ...]
    """Public ranges that operators and CI come from."""
    public: Mapping[str, str]
    """By resource name, what an environment needs to have at the internet, and for what."""
    destroyable: bool
    """Whether the environment may be destroyed, and its vault purged."""
    waivers: tuple[Waiver, ...]
    today: date
    """The day, in UTC, that waivers are judged by."""

    def admits(self, source: Network) -> bool:
        """Whether all of ``source`` belongs to the environment or to its operators."""
        return _inside(source, (self.supernet, *self.operators))

    def admits_operator(self, source: Network) -> bool:
        """Whether all of ``source`` belongs to its operators."""
        return _inside(source, self.operators)


def parse_range(text: str) -> Network | None:
    """An address or a range in CIDR notation; None when it is neither."""
    try:
        return ip_network(text, strict=False)
    except ValueError:
        return None


def declared_by(environment: Environment, *, today: date | None = None) -> Declared:
    """What ``environment`` allows. ``today`` is the present day in UTC unless said otherwise."""
    return Declared(
        environment=environment.name,
        sites=frozenset(environment.sites),
        tags=environment.tags,
        supernet=environment.supernet,
        operators=environment.access.operators,
        public=dict(_public(environment)),
        destroyable=environment.destroyable,
        waivers=environment.waivers,
        today=today or datetime.now(UTC).date(),
    )


def _inside(source: Network, ranges: Sequence[IPv4Network]) -> bool:
    """Whether one of ``ranges`` holds ``source``; everybody is nobody's range, whoever declares it."""
    some = (one for one in ranges if one.prefixlen > 0)
    return isinstance(source, IPv4Network) and any(source.subnet_of(one) for one in some)


def _public(environment: Environment) -> Iterator[tuple[str, str]]:
    """Names as `components/azure/network.py`, `components/azure/vpn.py` and `components/aws/network.py` give them."""
    planned = links(environment)
    linked = {site for link in planned if link.kind is LinkKind.IPSEC for site in (link.first, link.second)}
    for name, site in environment.sites.items():
        if isinstance(site, AzureSite):
            if makes_egress(place_of(environment, name)):
                yield f"{environment.name}-{name}-egress", f"egress of {name}"
            if name in linked and cloud_of(site).made.makes_vpn_gateway(site):
                for instance in range(AZURE_ADDRESSES):
                    yield f"{environment.name}-links-{name}-address-{instance}", f"IPsec gateway of {name}"
        elif isinstance(site, AwsSite):
            if zones := made_zones(site):
                yield f"{environment.name}-{name}-network-public-default", f"egress of {name}"
            for zone in zones:
                yield f"{environment.name}-{name}-network-egress-{zone}", f"egress of {name}, zone {zone}"
