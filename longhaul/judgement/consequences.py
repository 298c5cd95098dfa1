"""Consequences of a change, by kind of resource: what is interrupted, and what to do about it.

A duration is stated only with its source: this project's pages and code, or the cloud's documentation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from clouds.base.resource_types import ResourceKind
from contract.reasons.plan import PlanReason


@dataclass(frozen=True, kw_only=True)
class Consequence:
    """Texts about the consequences of changing one kind of resource."""

    reason: PlanReason
    change: str
    """Consequence of a change in place; empty when it needs no attention."""
    gone: str
    """Consequence of replacing or destroying the resource; empty when it needs no attention."""
    do: str
    made: str = ""
    """Consequence of making the resource in an existing site; empty when it needs no attention."""


_QUIET_HOUR = "Do it when nobody needs what runs across it."

_UNREACHABLE = (
    "unreachable after 50 s, and their pods are evicted 300 s later unless they tolerate more (docs/network.md)."
)

CONSEQUENCES: Mapping[ResourceKind, Consequence] = {
    ResourceKind.BALANCER: Consequence(
        reason=PlanReason.LOAD_BALANCER_CHANGES,
        change="Every node, pod and operator reaches the API by it: connections may break and are made again.",
        gone="Nobody reaches the API until it is back: what runs goes on, nothing new starts. Nodes count as "
        f"{_UNREACHABLE}",
        do="Look at the properties below. Do it when nothing has to start, and look at `longhaul status` afterwards.",
    ),
    ResourceKind.VPN_GATEWAY: Consequence(
        reason=PlanReason.VPN_GATEWAY_CHANGES,
        change="All of the site's tunnels may break and come up again.",
        gone="All of the site's tunnels are down until it is back, and its addresses may be others. Azure takes half "
        f"an hour to make one (components/azure/vpn.py). Nodes behind them count as {_UNREACHABLE}",
        do=f"{_QUIET_HOUR} Run `longhaul hosts` afterwards: racks' gateways have to learn new addresses and keys.",
    ),
    ResourceKind.EGRESS: Consequence(
        reason=PlanReason.EGRESS_CHANGES,
        change="Connections to the internet may break.",
        gone="The site, or the zone, has no way to the internet until it is back.",
        do="Do it when no image is pulled and no data is fetched.",
    ),
    ResourceKind.ADDRESS: Consequence(
        reason=PlanReason.PUBLIC_ADDRESS_CHANGES,
        change="It is what the site leaves by, or what its tunnels end at.",
        gone="The new one is another address: the site leaves by it, or its tunnels end at it.",
        do="Tell whoever admits the site by its address (registries, firewalls); run `longhaul hosts` for tunnels.",
    ),
    ResourceKind.TUNNEL: Consequence(
        reason=PlanReason.TUNNEL_CHANGES,
        change="The tunnel may break and comes up again; AWS takes a connection's tunnels down while it makes their "
        'ends anew (docs.aws.amazon.com, "Site-to-Site VPN tunnel endpoint replacements"). A dead peer is noticed '
        "after 30 s (docs/network.md).",
        gone="The tunnel is down until both ends have the new key and address. Nodes behind it count as "
        f"{_UNREACHABLE}",
        do=f"{_QUIET_HOUR} Run `longhaul hosts` afterwards where a rack is at the other end.",
    ),
    ResourceKind.PEERING: Consequence(
        reason=PlanReason.PEERING_CHANGES,
        change="Traffic between the two sites may stop for a moment.",
        gone="The two sites do not reach each other until it is back.",
        do=_QUIET_HOUR,
    ),
    ResourceKind.NETWORK: Consequence(
        reason=PlanReason.NETWORK_CHANGES,
        change="It is what everything in the site is connected by.",
        gone="Everything in it has to go first, and is made anew after it.",
        do="Look at the properties below: no address in use may move.",
    ),
    ResourceKind.ROUTE: Consequence(
        reason=PlanReason.ROUTE_CHANGES,
        change="Packets take another way, or none, from the moment on that it changes.",
        gone="What it led to is not reached until it is back, or any more.",
        do="See that the new way leads to the same place.",
    ),
    ResourceKind.RULE: Consequence(
        reason=PlanReason.RULE_CHANGES,
        change="Who may talk to whom changes at once, in connections that are open too.",
        gone="Who may talk to whom changes at once; between the old rule and the new one, nobody of it may.",
        do="Read the rules: every port and range that is given up is in nobody's use, each new one is wanted.",
        made="Who may talk to whom changes at once.",
    ),
    ResourceKind.NAME: Consequence(
        reason=PlanReason.NAME_CHANGES,
        change="Who has the old answer keeps it for its time to live, 60 s.",
        gone="The name is not known until it is back, or any more; who has the old answer keeps it for 60 s.",
        do="See that nobody needs the old answer.",
    ),
    ResourceKind.RIGHT: Consequence(
        reason=PlanReason.RIGHT_CHANGES,
        change="Who may do what changes.",
        gone="Who had it is refused until the new one is in force: Azure takes up to ten minutes (learn.microsoft.com, "
        '"Troubleshoot Azure RBAC").',
        do="See that each right is the least that its holder needs.",
    ),
    ResourceKind.VAULT: Consequence(
        reason=PlanReason.VAULT_CHANGES,
        change="Who reaches the vault, or how it keeps what is deleted, changes: machines fetch their keys there at "
        "boot and every ten minutes (docs/certificates.md).",
        gone="",
        do="See that the machines' subnets and the operators' ranges are still admitted.",
    ),
    ResourceKind.AUTHORITY: Consequence(
        reason=PlanReason.AUTHORITY_RENEWED,
        change="It is renewed with the key that it has, which interrupts nothing (docs/certificates.md).",
        gone="",
        do="Nothing but to know of it.",
    ),
    ResourceKind.CERTIFICATE: Consequence(
        reason=PlanReason.CERTIFICATE_CHANGES,
        change="It is issued anew; its holder fetches it within ten minutes and reloads or restarts what uses it "
        "(docs/certificates.md).",
        gone="Its holder has none until it has fetched the new one, within ten minutes (docs/certificates.md), or any "
        "more.",
        do="Look at `longhaul status` a quarter of an hour later.",
    ),
    ResourceKind.GROUP: Consequence(
        reason=PlanReason.GROUP_CHANGES,
        change="It holds everything of a site.",
        gone="Azure deletes everything in it.",
        do="Look at what is in it.",
    ),
    ResourceKind.POOL: Consequence(
        reason=PlanReason.POOL_REPLACED,
        change="",
        gone="All of its machines are ended, and what runs on them, checkpoint or not.",
        do="Empty it first (docs/rolling.md): cordon its nodes and wait for the work to end.",
    ),
    ResourceKind.DATA: Consequence(
        reason=PlanReason.STORE_CHANGES,
        change="How it keeps what it holds, or who reaches it, changes.",
        gone="",
        do="Look at the properties below.",
    ),
    ResourceKind.OTHER: Consequence(
        reason=PlanReason.RESOURCE_GOES,
        change="",
        gone="It is not there for as long as that takes, or any more.",
        do="See that nobody needs it meanwhile.",
    ),
}
