"""Rules of a node's packet filter that contain values of the environment. Rules that are the same everywhere are in
images/rootfs/usr/local/share/longhaul/node.nft, which includes this file after its own rules."""

from __future__ import annotations

from ipaddress import IPv4Network

from components.model import AddressPlan, Environment
from components.model.access.source_ranges import ssh_sources
from components.model.hosts.places import quarantined_ranges
from components.model.network.address_plan import SitePlan
from components.render.documents import HEADER
from components.render.file import File
from contract.node_dns import ADDRESS, POD_BURST_KIB, POD_KIB_PER_S
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
    return File(
        content=HEADER
        + "".join(f"add rule inet longhaul {rule}\n" for rule in rules)
        + _questions_filter(addresses.supernet, addresses.sites[site])
    )


def _questions_filter(supernet: IPv4Network, site: SitePlan) -> str:
    """Return rules that limit what each pod asks of the cache, of the cluster's servers by their Services, and of pods.

    A site's resolvers, in the first half of its block or outside the supernet, are not among them: the cluster's DNS
    servers, which are pods themselves, ask them for all. A pod sends from its own address alone, so it has no second
    limit (nft(8), "meters": a set with ``limit``).
    """
    machines, _ = site.block.subnets()
    asked = (f"ip daddr {ADDRESS}", f"ip daddr {supernet} ip daddr != {machines}")
    limit = f"limit rate over {POD_KIB_PER_S} kbytes/second burst {POD_BURST_KIB} kbytes"
    return "".join(
        f"add {line}\n"
        for line in (
            "set inet longhaul dns_sources { type ipv4_addr; size 65535; flags dynamic,timeout; timeout 1m; }",
            "chain inet longhaul dns_questions",
            f"rule inet longhaul dns_questions update @dns_sources {{ ip saddr {limit} }} counter drop",
            *(
                f'rule inet longhaul prerouting iifname "veth*" {match} meta l4proto {{ tcp, udp }} th dport 53 '
                "jump dns_questions"
                for match in asked
            ),
        )
    )
