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


_QUIET_HOUR = "Do it when nobody needs the traffic that crosses it."

_UNREACHABLE = (
    "unreachable after 50 s, and their pods are evicted 300 s later unless they tolerate more (docs/network.md)."
)

CONSEQUENCES: Mapping[ResourceKind, Consequence] = {
    ResourceKind.BALANCER: Consequence(
        reason=PlanReason.LOAD_BALANCER_CHANGES,
        change="Every node, pod and operator reaches the API through it: connections may break and are made again.",
        gone="Nobody reaches the API until it is back: running pods continue, nothing new starts. Nodes count as "
        f"{_UNREACHABLE}",
        do="Check the properties below. Do it when nothing has to start, and check `longhaul status` afterwards.",
    ),
    ResourceKind.VPN_GATEWAY: Consequence(
        reason=PlanReason.VPN_GATEWAY_CHANGES,
        change="All of the site's tunnels may break and come up again. Its addresses stay. Another size takes Azure "
        "about 45 minutes (learn.microsoft.com/azure/vpn-gateway/gateway-sku-upgrade); Azure does not say for how long "
        "of these the tunnels are down.",
        gone="All of the site's tunnels are down until it is back, and its addresses may change. Azure takes half an "
        f"hour to make a gateway (components/azure/vpn.py). Nodes behind them count as {_UNREACHABLE}",
        do=f"{_QUIET_HOUR} Run `longhaul hosts` afterwards: racks' gateways need the new addresses and keys.",
    ),
    ResourceKind.EGRESS: Consequence(
        reason=PlanReason.EGRESS_CHANGES,
        change="Connections to the internet may break. The site's traffic leaves from new addresses at once.",
        gone="The site, or the zone, has no way to the internet until it is back.",
        do="Tell whoever admits the site by its addresses first. Do it when no image is pulled and no data is fetched.",
    ),
    ResourceKind.ADDRESS: Consequence(
        reason=PlanReason.PUBLIC_ADDRESS_CHANGES,
        change="The site's traffic leaves from it, or the site's tunnels end at it.",
        gone="The new one is another address: the site's traffic leaves from it, or the site's tunnels end at it.",
        do="Tell whoever admits the site by its address (registries, firewalls); run `longhaul hosts` for tunnels.",
    ),
    ResourceKind.TUNNEL: Consequence(
        reason=PlanReason.TUNNEL_CHANGES,
        change="The tunnel may break and comes up again; AWS takes a connection's tunnels down while it replaces "
        "their ends "
        '(docs.aws.amazon.com, "Site-to-Site VPN tunnel endpoint replacements"). A dead peer is noticed '
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
        change="It connects everything in the site.",
        gone="Everything in it is removed first, and made again afterwards.",
        do="Check the properties below: no address in use may move.",
    ),
    ResourceKind.ROUTE: Consequence(
        reason=PlanReason.ROUTE_CHANGES,
        change="From the moment of the change, packets take another way, or none.",
        gone="Its destination is unreachable until it is back, or for good.",
        do="Check that the new way leads to the same place.",
    ),
    ResourceKind.RULE: Consequence(
        reason=PlanReason.RULE_CHANGES,
        change="The permitted connections change at once, including those that are open.",
        gone="The permitted connections change at once; between the old rule and the new one, none of its connections "
        "is permitted.",
        do="Read the rules: no removed port or range may be in use, and each new one must be wanted.",
        made="The permitted connections change at once.",
    ),
    ResourceKind.NAME: Consequence(
        reason=PlanReason.NAME_CHANGES,
        change="Clients with the old answer keep it for its time to live, 60 s.",
        gone="The name does not resolve until it is back, or for good; clients with the old answer keep it for 60 s.",
        do="Check that nobody needs the old answer.",
    ),
    ResourceKind.RIGHT: Consequence(
        reason=PlanReason.RIGHT_CHANGES,
        change="Rights change.",
        gone="Its holder is refused until the new right is in force: Azure takes up to ten minutes "
        "(learn.microsoft.com, "
        '"Troubleshoot Azure RBAC").',
        do="Check that each holder gets no more rights than it needs.",
    ),
    ResourceKind.VAULT: Consequence(
        reason=PlanReason.VAULT_CHANGES,
        change="Access to the vault, or its retention of deleted secrets, changes: machines fetch their keys there at "
        "boot and every ten minutes (docs/certificates.md).",
        gone="",
        do="Check that the machines' subnets and the operators' ranges are still admitted.",
    ),
    ResourceKind.AUTHORITY: Consequence(
        reason=PlanReason.AUTHORITY_RENEWED,
        change="It is renewed with its present key, which interrupts nothing (docs/certificates.md).",
        gone="",
        do="Nothing to do.",
    ),
    ResourceKind.CERTIFICATE: Consequence(
        reason=PlanReason.CERTIFICATE_CHANGES,
        change="It is issued again; its holder fetches it within ten minutes and reloads or restarts the programs "
        "that use it (docs/certificates.md).",
        gone="Its holder has none until it fetches the new one, within ten minutes (docs/certificates.md), or "
        "for good.",
        do="Check `longhaul status` a quarter of an hour later.",
    ),
    ResourceKind.GROUP: Consequence(
        reason=PlanReason.GROUP_CHANGES,
        change="It holds everything of a site.",
        gone="Azure deletes everything in it.",
        do="Check its contents.",
    ),
    ResourceKind.POOL: Consequence(
        reason=PlanReason.POOL_REPLACED,
        change="",
        gone="All of its machines are ended, with everything that runs on them, checkpoint or not.",
        do="Empty it first (docs/rolling.md): cordon its nodes and wait for the work to end.",
    ),
    ResourceKind.DATA: Consequence(
        reason=PlanReason.STORE_CHANGES,
        change="Its retention, or access to it, changes.",
        gone="",
        do="Check the properties below.",
    ),
    ResourceKind.OTHER: Consequence(
        reason=PlanReason.RESOURCE_GOES,
        change="",
        gone="It is missing until it is back, or for good.",
        do="Check that nobody needs it meanwhile.",
    ),
}
