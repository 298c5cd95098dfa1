"""Checks of a site in Azure, of the site's pools and of the site's existing resources. The checks read only the
file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from clouds.azure.existing_section import CONTROL_PLANE_SUBNETS, VPN_SUBNET, name_of, subscription_of
from clouds.azure.pool_checks import pool_faults
from clouds.azure.service_tags import regions
from clouds.azure.site import AzureSite
from clouds.azure.vpn_gateway import DEFAULT
from clouds.azure.zones import WITHOUT_ZONES
from clouds.base.checks import SiteChecks
from clouds.base.faults import Fault, Location
from clouds.base.phrases import suggestion
from clouds.base.place import Place
from clouds.base.ranges import is_public
from clouds.base.section import IMAGINARY

OTHER_CLOUDS = r"usgov|usdod|china"
"""Beginnings of the names of regions that are not in Azure's public cloud (learn.microsoft.com, "Azure Government
developer guide" and "Azure China developer guide", on endpoints)."""

LARGEST_PREFIX = 19
"""Largest prefix length of the block of a site with a VPN gateway. The gateway subnet of a /19 is a /27, the smallest
that Azure accepts for SKUs other than Basic (learn.microsoft.com, "About VPN Gateway configuration settings", "Gateway
subnet")."""


class AzureSiteChecks(SiteChecks[AzureSite]):
    """Checks of sites in Azure."""

    def network(self, site: AzureSite) -> tuple[str, str] | None:
        """Return the key and the id of the virtual network that the site names, or None if the site names no
        network."""
        named = site.existing.network
        return None if named is None else ("network", named)

    def faults(self, place: Place[AzureSite], earlier: Sequence[Place[AzureSite]]) -> Iterator[Fault]:
        """Yield the faults of a site, of the existing parts that the site names, and of the site's pools.

        Faults of the site are a control plane's region without a known service tag, a control plane without zones, a
        block too small for the gateway subnet of a new VPN gateway, a size of a VPN gateway that is not Longhaul's, and
        ``encrypted`` with an existing network. Faults
        of existing parts are ids of another subscription, subnets or a VPN gateway without the network's id, a
        gateway's address that is not public, one subnet for two parts, and subnets that only the control plane's site
        can have. Faults of the DNS zone are a zone that is not in the control plane's site, a zone with another name
        than the environment's domain, and ``dns_zone_linked`` without a zone.
        """
        name, site = place.name, place.site
        yield from _cloud(place)
        yield from _region(place)
        yield from _control_plane_zones(place)
        yield from _gateway_subnet(place)
        yield from _gateway_size(place)
        there, at = site.existing, ("sites", name, "existing")
        gateway = there.vpn_gateway
        ids: tuple[tuple[Location, str | None], ...] = (
            ((*at, "network"), there.network),
            ((*at, "dns_zone"), there.dns_zone),
            ((*at, "vpn_gateway", "id"), gateway.id if gateway else None),
        )
        for where, id_ in ids:
            if id_ is not None and subscription_of(id_) != site.subscription:
                wrong = f"{name_of(id_)} is in another subscription than {name}"
                write = f"the id of one in {site.subscription}"
                yield Fault(at=where, wrong=wrong, write=write, basis=(("sites", name, "subscription"),))
        named = there.subnets.named()
        if there.network is None:
            for key, is_named in (("subnets", bool(named)), ("vpn_gateway", gateway is not None)):
                if is_named:
                    yield Fault(at=(*at, key), wrong="its network is not named", write="`network` as well")
        elif site.encrypted:
            wrong = f"{name_of(there.network)} is not Longhaul's, so Longhaul does not turn on its encryption"
            write = "nothing, and turn on encryption at the network itself"
            yield Fault(at=("sites", name, "encrypted"), wrong=wrong, write=write, basis=((*at, "network"),))
        for index, address in enumerate(gateway.addresses if gateway else ()):
            if not is_public(address):
                wrong = f"{address} is not public: the other ends of its tunnels are on the internet"
                where = (*at, "vpn_gateway", "addresses", index)
                yield Fault(at=where, wrong=wrong, write="the address of the gateway's public IP configuration")
        yield from _tenant(place, earlier)
        yield from _subnets(place, named, at)
        yield from _zone(place, at)
        yield from pool_faults(place)


def _tenant(place: Place[AzureSite], earlier: Sequence[Place[AzureSite]]) -> Iterator[Fault]:
    """Yield a fault for a tenant that is the subscription, or another one than an earlier site names for it. A
    subscription trusts one alone (learn.microsoft.com, "Associate or add an Azure subscription to your Microsoft Entra
    tenant")."""
    site = place.site
    if site.tenant == site.subscription and not site.subscription.startswith(IMAGINARY):
        wrong = "is the id of the subscription, and a tenant has an id of its own"
        write = "what `az account show --query tenantId` prints"
        at, other_id = (("sites", place.name, key) for key in ("tenant", "subscription"))
        yield Fault(at=at, wrong=wrong, write=write, basis=(other_id,))
    for other in earlier if not site.subscription.startswith(IMAGINARY) else ():
        if other.site.subscription == site.subscription and other.site.tenant != site.tenant:
            wrong = f"{site.subscription} is the subscription of {other.name} too, which names another tenant"
            keys = ((other.name, "tenant"), (other.name, "subscription"), (place.name, "subscription"))
            basis = tuple(("sites", name, key) for name, key in keys)
            yield Fault(at=("sites", place.name, "tenant"), wrong=wrong, write=other.site.tenant, basis=basis)
            return


def _cloud(place: Place[AzureSite]) -> Iterator[Fault]:
    region = place.site.region
    if re.match(OTHER_CLOUDS, region):
        wrong = f"{region} is in another cloud of Azure's, with addresses of its own"
        yield Fault(at=("sites", place.name, "region"), wrong=wrong, write="a region of Azure's public cloud")


def _gateway_size(place: Place[AzureSite]) -> Iterator[Fault]:
    """Yield a fault for the size of a gateway that Longhaul does not make."""
    at, site = ("sites", place.name), place.site
    if site.existing.vpn_gateway is not None and site.vpn_gateway_size != DEFAULT:
        wrong = f"{name_of(site.existing.vpn_gateway.id)} is not Longhaul's, so Longhaul does not change its size"
        basis = ((*at, "existing", "vpn_gateway"),)
        yield Fault(
            at=(*at, "vpn_gateway_size"), wrong=wrong, write="nothing, and change the gateway itself", basis=basis
        )


def _gateway_subnet(place: Place[AzureSite]) -> Iterator[Fault]:
    """Yield a fault if a VPN gateway is to be made in a subnet that is too small for it."""
    name, site = place.name, place.site
    prefix = site.range.prefixlen if site.range else site.prefix
    if place.has_tunnels and site.existing.vpn_gateway is None and prefix > LARGEST_PREFIX:
        wrong = f"the gateway subnet of a /{prefix} is smaller than Azure allows for the VPN gateway of {name}"
        yield Fault(
            at=("sites", name, "range" if site.range else "prefix"),
            wrong=wrong,
            write=f"a block of /{LARGEST_PREFIX} or larger",
            basis=(("sites",), ("links",)),
        )


def _region(place: Place[AzureSite]) -> Iterator[Fault]:
    """Yield a fault if the rules of the control plane cannot name the region (``components/azure/rules.py``)."""
    region = place.site.region
    if place.is_control and region not in regions() and not re.match(OTHER_CLOUDS, region):
        wrong = f"{region!r} is not a region with a known service tag: Azure would refuse the control plane's rules"
        write = f"{suggestion(regions(), region)}; a newer region first needs its tag in clouds/azure/service_tags.py"
        yield Fault(at=("sites", place.name, "region"), wrong=wrong, write=write, basis=(("control_plane", "site"),))


def _control_plane_zones(place: Place[AzureSite]) -> Iterator[Fault]:
    """Yield a fault if the control plane's machines would be in no zone. Without zones, Azure may place the members of
    an etcd cluster in one rack, which fails as a whole (learn.microsoft.com/azure/virtual-machines/availability)."""
    site = place.site
    if place.is_control and not site.zones:
        has_none = site.region in WITHOUT_ZONES
        yield Fault(
            at=("sites", place.name, "zones"),
            wrong=f"the control plane's machines are spread over zones, and {site.region if has_none else place.name} "
            "has none",
            write="another region for the control plane: this one may have sites of pools" if has_none else "its zones",
            basis=(("control_plane", "site"), ("sites", place.name, "region")),
        )


def _subnets(place: Place[AzureSite], named: dict[str, str], at: Location) -> Iterator[Fault]:
    first: dict[str, str] = {}
    for part, subnet in named.items():
        where = (*at, "subnets", part)
        earlier = first.setdefault(subnet.lower(), part)
        if earlier != part:
            wrong = f"{subnet!r} is the subnet of {earlier} already"
            yield Fault(at=where, wrong=wrong, write="a subnet for each", basis=((*at, "subnets", earlier),))
        if part in (*CONTROL_PLANE_SUBNETS, VPN_SUBNET) and _is_elsewhere(place):
            wrong = f"the subnet {part} belongs in {place.control}, the control plane's site"
            yield Fault(at=where, wrong=wrong, write="no entry here", basis=(("control_plane", "site"),))


def _zone(place: Place[AzureSite], at: Location) -> Iterator[Fault]:
    there = place.site.existing
    zone = there.dns_zone
    if zone is None:
        if there.dns_zone_linked:
            yield Fault(at=(*at, "dns_zone_linked"), wrong="no DNS zone is named", write="`dns_zone` as well")
        return
    if _is_elsewhere(place):
        wrong = f"the environment's zone is beside the control plane, in {place.control}"
        yield Fault(at=(*at, "dns_zone"), wrong=wrong, write="nothing here", basis=(("control_plane", "site"),))
    elif place.is_control and name_of(zone) != place.domain:
        wrong = f"{name_of(zone)!r} is not the environment's domain"
        write = f"the id of a zone called {place.domain}"
        yield Fault(at=(*at, "dns_zone"), wrong=wrong, write=write, basis=(("domain",),))


def _is_elsewhere(place: Place[AzureSite]) -> bool:
    """Return whether the control plane is in another site."""
    return place.control not in ("", place.name)
