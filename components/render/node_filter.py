"""Rules of a node's packet filter that contain ranges of the environment. Rules that are the same everywhere are in
images/rootfs/usr/local/share/longhaul/node.nft, which includes this file after its own rules."""

from __future__ import annotations

from components.model import AddressPlan, Environment
from components.model.access.source_ranges import ssh_sources
from components.model.hosts.places import quarantined_ranges
from components.render.documents import HEADER
from components.render.file import File
from contract.ports import JOIN_PORT

PATH = "/etc/longhaul/nft.d/environment.nft"


def filter_file(environment: Environment, addresses: AddressPlan, site: str) -> File:
    """Return the file of a site's nodes, for :data:`PATH`."""
    operators = ", ".join(map(str, ssh_sources(environment, addresses, site)))
    servers = addresses.sites[environment.control_plane.site].subnet("api")
    rules = (
        # The load balancer's frontend is in the API servers' subnet. Packets that a node forwards come from its pods.
        f"forward ip daddr {servers} tcp dport {JOIN_PORT} counter drop",
        f"input tcp dport 22 ip saddr != {{ {operators} }} counter drop",
        "input tcp dport 22 meta nfproto ipv6 counter drop",
        *(f"prerouting ip saddr {range_} counter drop" for range_ in quarantined_ranges(environment, addresses, site)),
    )
    return File(content=HEADER + "".join(f"add rule inet longhaul {rule}\n" for rule in rules))
