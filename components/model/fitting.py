"""Whether what is there already fits the address plan: asked of a cloud by whoever builds or looks, judged here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Network, collapse_addresses, ip_network

from clouds.aws.site import AwsSite
from clouds.azure.existing import CONTROL_PLANE_SUBNETS, AzureVpn
from clouds.azure.names import subnet_name
from clouds.azure.site import AzureSite
from components.model.environment import Environment
from components.model.links import LinkKind, links
from components.model.network import AddressPlan
from components.model.places import place_of

VAULT_ENDPOINT = "Microsoft.KeyVault"
"""Service endpoint that lets a subnet reach vaults without leaving Azure's network."""


@dataclass(frozen=True, kw_only=True)
class FoundSubnet:
    """A subnet as its cloud has it."""

    ranges: tuple[IPv4Network, ...]
    endpoints: tuple[str, ...] = ()
    """Azure: service endpoints."""
    delegated: str = ""
    """Azure: the service that it is delegated to, which machines cannot stand in."""
    network: str = ""
    """AWS: the VPC."""
    zone: str = ""
    """AWS: the availability zone with its region."""


@dataclass(frozen=True, kw_only=True)
class FoundNetwork:
    """A virtual network or VPC as its cloud has it."""

    region: str
    ranges: tuple[IPv4Network, ...]
    subnets: Mapping[str, FoundSubnet] = field(default_factory=dict)
    """Azure: by name, without case."""


@dataclass(frozen=True, kw_only=True)
class FoundGateway:
    """A virtual network gateway as Azure has it."""

    gateway_type: str
    vpn_type: str
    size: str
    """Name of its SKU."""
    addresses: tuple[str, ...]
    """Public addresses, in the order of its IP configurations."""
    subnets: tuple[str, ...]
    """Resource ids of the subnets that it stands in."""


def ranges_of(texts: Iterable[str]) -> tuple[IPv4Network, ...]:
    """The IPv4 ranges among what a cloud lists."""
    found = (ip_network(text) for text in texts)
    return tuple(one for one in found if isinstance(one, IPv4Network))


def site_ranges(addresses: AddressPlan, site: str) -> dict[str, IPv4Network]:
    """Ranges of an Azure site's subnets by part."""
    own = addresses.sites[site]
    return {part: own.subnet(part) for part in ("gateway", "etcd", "events", "api")} | {"nodes": own.pods}


def network_faults(found: FoundNetwork, addresses: AddressPlan, *, site: str, region: str) -> Iterator[str]:
    """Why a network cannot be that of ``site``."""
    block = addresses.sites[site].block
    if found.region.replace(" ", "").lower() != region:
        yield f"it is in {found.region}, and the site in {region}; name one in the site's region"
    if not any(block.subnet_of(one) for one in collapse_addresses(found.ranges)):
        yield (
            f"its ranges, {_listed(found.ranges)}, do not hold {block}, the site's; add that to the network, or write "
            "a `range` that it has"
        )
    strange = [one for held in found.ranges for one in _without(held, block) if one.overlaps(addresses.supernet)]
    if strange:
        yield (
            f"it has {_listed(strange)} besides, in {addresses.supernet}, where the other sites are: what is sent to "
            "them would stay in the network; choose another supernet, or a network of which only the site's range "
            "lies in it"
        )


def azure_faults(found: FoundNetwork, environment: Environment, addresses: AddressPlan, *, site: str) -> Iterator[str]:
    """Why a virtual network and its named subnets cannot be those of ``site``; ``TypeError`` when it is not on
    Azure."""
    declared = environment.sites[site]
    if not isinstance(declared, AzureSite):
        raise TypeError(f"site {site} is {declared.kind}, not azure")
    yield from network_faults(found, addresses, site=site, region=declared.region)
    wanted, named = site_ranges(addresses, site), declared.existing.subnets.named()
    for part, name in named.items():
        subnet = found.subnets.get(name.lower())
        if subnet is None:
            yield f"it has no subnet {name}, named for {part}; make it with {wanted[part]}, or leave `{part}` out"
            continue
        yield from (f"its subnet {name}, named for {part}, {fault}" for fault in _subnet(subnet, part, wanted[part]))
    for part, range_ in wanted.items():
        if part not in named and part in made_parts(environment, site):
            for name, subnet in found.subnets.items():
                # By its name, an earlier `up` has made it.
                ours = name == subnet_name(place_of(environment, site), part).lower() and subnet.ranges == (range_,)
                if not ours and any(one.overlaps(range_) for one in subnet.ranges):
                    yield f"its subnet {name} is in the way of {range_}, where the subnet for {part} is to be made"


def made_parts(environment: Environment, site: str) -> tuple[str, ...]:
    """Parts of an Azure site that have a subnet: its gateway only where it has tunnels, and is not named itself."""
    declared = environment.sites[site]
    named = isinstance(declared, AzureSite) and declared.existing.vpn_gateway is not None
    tunnels = any(link.kind is LinkKind.IPSEC and site in (link.first, link.second) for link in links(environment))
    return (
        *(("gateway",) if tunnels and not named else ()),
        *(CONTROL_PLANE_SUBNETS if site == environment.control_plane.site else ()),
        "nodes",
    )


def _subnet(found: FoundSubnet, part: str, wanted: IPv4Network) -> Iterator[str]:
    if found.ranges != (wanted,):
        yield f"has {_listed(found.ranges)}, and the address plan {wanted}; they are to be equal"
    if found.delegated:
        yield f"is delegated to {found.delegated}; end that"
    if part in CONTROL_PLANE_SUBNETS and VAULT_ENDPOINT not in found.endpoints:
        yield f"lacks the service endpoint {VAULT_ENDPOINT}, by which machines reach the vault; add it"


def aws_subnet_faults(found: FoundSubnet, wanted: IPv4Network, site: AwsSite, *, zone: str) -> Iterator[str]:
    """Why a subnet cannot be that of a zone's nodes."""
    if found.ranges != (wanted,):
        yield f"it has {_listed(found.ranges)}, and the address plan {wanted}; they are to be equal"
    if found.network != site.existing.vpc:
        yield f"it is in {found.network}, not in {site.existing.vpc}; name one of this VPC"
    if found.zone != f"{site.region}{zone}":
        yield f"it is in {found.zone}, not in {site.region}{zone}; name one of this zone"


def gateway_faults(found: FoundGateway, vpn: AzureVpn, *, network: str) -> Iterator[str]:
    """Why a gateway cannot end the tunnels of the site whose network has the id ``network``."""
    if found.gateway_type != "Vpn" or found.vpn_type != "RouteBased":
        yield (
            f"it is {found.gateway_type}, {found.vpn_type}; only route-based VPN gateways take the tunnels' policies"
        )
    if found.size == "Basic":
        yield "its size is Basic, which takes no IPsec policies; name a larger one"
    if [IPv4Address(one) for one in found.addresses] != list(vpn.addresses):
        real, declared = ", ".join(found.addresses) or "none", ", ".join(map(str, vpn.addresses))
        yield f"its addresses are {real}, and the file has {declared}; write the former"
    outside = [one for one in found.subnets if not one.lower().startswith(f"{network.lower()}/")]
    if outside:
        yield f"it stands in {outside[0].rpartition('/subnets/')[0]}, not in the site's network"


def table_faults(associated: Iterable[str], subnet: str) -> Iterator[str]:
    """Why a route table, to be known by the subnets that are associated with it, is not that of ``subnet``."""
    if subnet not in associated:
        yield f"{subnet} is not associated with it; associate it, or name the table that it is associated with"


def attachment_faults(attached: str, vpc: str) -> Iterator[str]:
    """Why a gateway, to be known by the VPC that it is attached to, is not that of ``vpc``."""
    if attached != vpc:
        yield f"it is attached to {attached or 'no VPC'}, not to {vpc}; attach it to that one"


def _without(held: IPv4Network, block: IPv4Network) -> list[IPv4Network]:
    """What of ``held`` is not the block's."""
    if not held.overlaps(block):
        return [held]
    return [] if held.subnet_of(block) else list(held.address_exclude(block))


def _listed(ranges: Sequence[IPv4Network]) -> str:
    return ", ".join(map(str, ranges)) or "none"
