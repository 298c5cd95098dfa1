"""Tunnels that end at a site's gateway in AWS. Fields: docs.aws.amazon.com, EC2 API, ``DescribeVpnConnections`` and
``VgwTelemetry``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from clouds.aws.session import aws_errors, shared
from clouds.aws.site import AwsSite
from clouds.base.place import Place
from clouds.base.throughput import ThroughputLimit
from clouds.base.tunnels import SiteTunnels, TunnelView, link_of
from contract.tag_keys import ENVIRONMENT, SITE

TUNNELS = 2
"""Number of tunnels of one connection, each with an address of its own. A connection leads to one address of the other
site."""

TUNNEL = ThroughputLimit(mbit=1_250, packets=140_000, of="one tunnel of AWS")
"""Largest throughput of one tunnel (aws.amazon.com/blogs/networking-and-content-delivery, "AWS Site-to-Site VPN,
choosing the right options to optimize performance"). AWS's large tunnels, of 5 Gbit/s, need a transit gateway or Cloud
WAN (registry documentation of ``aws.ec2.VpnConnection``, ``tunnelBandwidth``)."""

GATEWAY = ThroughputLimit(mbit=1_250, of="a virtual private gateway of AWS")
"""Largest throughput of all connections of a virtual private gateway, from AWS to the other sites (aws.amazon.com/vpn/
faqs)."""


class AwsSiteTunnels(SiteTunnels[AwsSite]):
    """Tunnels to sites in AWS."""

    def ends(self, site: AwsSite) -> tuple[str, ...]:
        """Return the labels of a connection's two tunnels, ``0-0`` and ``0-1``. The first digit is the index of the
        other site's address."""
        return tuple(f"0-{tunnel}" for tunnel in range(TUNNELS))

    def gateway_words(self, site: AwsSite) -> str:
        """Return the gateway's place."""
        return "of the VPC"

    def views(self, place: Place[AwsSite], links: Sequence[str]) -> list[TunnelView]:
        """Return the tunnels of all connections of the site, by one request."""
        wanted = {f"tag:{ENVIRONMENT}": place.environment, f"tag:{SITE}": place.name}
        filters = [{"Name": name, "Values": [value]} for name, value in wanted.items()]
        with aws_errors(f"AWS {place.site.region}"):
            answer = shared().client("ec2", place.site.region).describe_vpn_connections(Filters=filters)
        return [
            view
            for connection in answer["VpnConnections"]
            if connection.get("State") != "deleted"
            for view in views_of(place, connection, links)
        ]

    def tunnel_limit(self, site: AwsSite) -> ThroughputLimit | None:
        """Return AWS's limit of a tunnel."""
        return TUNNEL

    def gateway_limit(self, site: AwsSite) -> ThroughputLimit | None:
        """Return AWS's limit of a virtual private gateway, made here or existing."""
        return GATEWAY

    def addresses(self, site: AwsSite) -> int:
        """Return the number of public addresses of a connection."""
        return TUNNELS


def views_of(place: Place[AwsSite], connection: Mapping[str, Any], links: Sequence[str]) -> Iterator[TunnelView]:
    """Yield a connection's two tunnels as AWS's gateway sees them; none for a connection that Longhaul did not make."""
    tags = {str(tag["Key"]): str(tag["Value"]) for tag in connection.get("Tags", [])}
    link = link_of(place, f"{tags.get('Name', '')}-", links)
    if link is None:
        return
    for telemetry in connection.get("VgwTelemetry", []):
        changed, up = telemetry.get("LastStatusChange"), telemetry.get("Status") == "UP"
        yield TunnelView(
            link=link,
            site=place.name,
            name=f"{tags['Name']} {telemetry.get('OutsideIpAddress', '')}",
            up=up,
            since=changed.isoformat() if changed is not None else "",
            reason="" if up else f"AWS says {telemetry.get('StatusMessage') or telemetry.get('Status', 'nothing')}",
        )
