"""Checks of the environment's domain: a private DNS zone, which answers for every name below it."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Network
from urllib.parse import urlsplit

from clouds.base.faults import Caution, Fault, Location
from clouds.registry import cloud_of
from components.model.environment import Environment
from contract.object_names import CLUSTER_DOMAIN
from contract.reasons.plan import FileReason

PRIVATE = ("corp", "home", "internal", "intranet", "lan", "private", "test")
"""Top-level domains that nobody can register (RFC 6761; RFC 6762, appendix G; ICANN, resolution 2024.07.29.06)."""

LINK_LOCAL = "local"
"""Top-level domain of multicast DNS. A query for a name below it "MUST be sent to the mDNS IPv4 link-local multicast
address" (RFC 6762, section 3). On machines, systemd-resolved does so (systemd-resolved.service(8), "Protocols and
Routing")."""

SECOND_LEVEL = ("ac", "co", "com", "edu", "gov", "net", "org")
"""Labels below which countries register names, such as `co.uk`."""


def check_domain(environment: Environment) -> Iterator[Fault]:
    """Yield a fault for each name that machines, or laptops in the VPN, would no longer find, because the domain's zone
    answers for it (learn.microsoft.com, "What is a private Azure DNS zone?"). A zone that exists already may have the
    names of issuers and depots."""
    domain = environment.domain
    write = f"a domain that only this environment uses, such as {environment.name}.longhaul.internal"
    if _is_below(domain, CLUSTER_DOMAIN) or _is_below(CLUSTER_DOMAIN, domain):
        wrong = f"{CLUSTER_DOMAIN} is the cluster's own zone of Services and pods, and {domain} overlaps it"
        yield Fault(at=("domain",), wrong=wrong, write=write)
    elif _is_below(domain, LINK_LOCAL):
        wrong = "names below local are asked of the machines of one link by multicast (RFC 6762), not of a server: "
        yield Fault(at=("domain",), wrong=f"{wrong}machines and laptops would not find the API", write=write)
    for site in {site.kind: site for site in environment.sites.values()}.values():
        for service in cloud_of(site).service_domains:
            if _is_below(service, domain) or _is_below(domain, service):
                wrong = f"machines would no longer find {cloud_of(site).title}'s services below {service}"
                yield Fault(at=("domain",), wrong=wrong, write=write, basis=(("sites",),))
    if _is_made(environment):
        for at, host in named_hosts(environment):
            if _is_below(host, domain) and host != environment.api_name:  # check_sign_in refuses that name.
                wrong = f"machines would no longer find {host}: this environment's own zone answers for {domain}"
                yield Fault(at=("domain",), wrong=wrong, write=write, basis=(at,))


def check_private_zones(environment: Environment) -> Iterator[Fault]:
    """Yield a fault for each private zone of a site that overlaps one of the cluster's own, which servers of every site
    answer to everybody."""
    of_cluster = (CLUSTER_DOMAIN, *_reverse_zones(environment.supernet))
    for name, site in environment.sites.items():
        for index, zone in enumerate(site.private_zones):
            for other in of_cluster:
                if _is_below(zone, other) or _is_below(other, zone):
                    wrong = f"{other} is the cluster's own zone of Services and pods, and {zone} overlaps it"
                    write = "a zone of the site's own resolvers, such as corp.example.com"
                    yield Fault(at=("sites", name, "private_zones", index), wrong=wrong, write=write)
                    break


def domain_cautions(environment: Environment) -> Iterator[Caution]:
    """Yield a caution if the domain looks like a company's whole public domain."""
    *_, second, top = labels = environment.domain.split(".")
    is_country = len(top) == 2 and second in SECOND_LEVEL
    if top in PRIVATE or len(labels) > (3 if is_country else 2) or not _is_made(environment):
        return
    yield Caution(
        reason=FileReason.PUBLIC_DOMAIN,
        at=("domain",),
        wrong=f"the environment's own zone answers for every name below {environment.domain}: the control plane's "
        "machines, and laptops in the VPN, find none of your other names there",
        write=f"a domain of its own below it, such as {environment.name}.{environment.domain}",
    )


def named_hosts(environment: Environment) -> Iterator[tuple[Location, str]]:
    """Yield the names of servers that machines or laptops need, with their places in the file."""
    for name, issuer in environment.identity.issuers.items():
        yield ("identity", "issuers", name, "url"), urlsplit(issuer.url).hostname or ""
    for name, site in environment.sites.items():
        if site.depot is not None:
            yield ("sites", name, "depot"), urlsplit(site.depot).hostname or ""
    if environment.vpn is not None and environment.vpn.name is not None:
        yield ("vpn", "name"), environment.vpn.name


def _reverse_zones(range_: IPv4Network) -> Iterator[str]:
    """Yield the zones with a range's reverse names, which are cut at whole bytes (RFC 1035, section 3.5)."""
    count = -(-range_.prefixlen // 8)
    for part in range_.subnets(new_prefix=8 * count):
        yield ".".join([*reversed(str(part.network_address).split(".")[:count]), "in-addr.arpa"])


def _is_made(environment: Environment) -> bool:
    """Return whether Longhaul makes the domain's zone."""
    name = environment.control_plane.site
    site = environment.sites.get(name)
    return site is not None and not cloud_of(site).parts.has_dns_zone(site)


def _is_below(name: str, domain: str) -> bool:
    return name == domain or name.endswith(f".{domain}")
