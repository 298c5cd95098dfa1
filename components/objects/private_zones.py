"""The part of CoreDNS's configuration about private zones of sites (docs/dns.md, "Private zones of a site")."""

from __future__ import annotations

from components.model import AddressPlan, Environment
from components.render.coredns import forward_directive

POD_ADDRESS = "POD_ADDRESS"
"""Variable of a server's environment with its own address, by which it knows at which site it is. All servers have one
configuration."""


def private_zones(environment: Environment, addresses: AddressPlan, *, api: str) -> str:
    """Return the server blocks of all private zones, and of the API's name, which may be below one of them; empty if no
    site has one. ``api`` is the directive that answers for that name.

    At the zone's site, its nodes and pods get the answers of the site's resolver; all others are refused, also by
    servers elsewhere, so that a resolver goes on to its next name server. A block is chosen by ``view``, before its
    cache is asked. The plugin ``acl`` alone would not do: it is asked after the cache, which would give anybody an
    answer that was meant for another (CoreDNS 1.14, plugin.cfg; plugin/view, "Server Block Ordering").
    """
    sites: dict[str, list[str]] = {}
    for name, site in environment.sites.items():
        for zone in dict.fromkeys(site.private_zones):
            sites.setdefault(zone, []).append(name)
    if not sites:
        return ""
    of_zones = "".join(
        _blocks(zone, " || ".join(_is_inside(addresses, name) for name in names)) for zone, names in sites.items()
    )
    return f"{environment.api_name}:53 {{\n    errors\n{api}    prometheus :9153\n}}\n{of_zones}"


def _is_inside(addresses: AddressPlan, name: str) -> str:
    """Return the expression that is true at a site's servers for questions of its nodes and pods."""
    site = addresses.sites[name]
    sources = " || ".join(f"incidr(client_ip(), '{range_}')" for range_ in (site.nodes, site.pods))
    return f"(incidr('{{${POD_ADDRESS}}}', '{site.block}') && ({sources}))"


def _blocks(zone: str, expression: str) -> str:
    return f"""\
{zone}:53 {{
    view site {{
        expr {expression}
    }}
    errors
    prometheus :9153
{forward_directive("/etc/resolv.conf")}    cache 30
}}
{zone}:53 {{
    errors
    prometheus :9153
    acl {{
        block
    }}
}}
"""
