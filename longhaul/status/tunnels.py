"""Asking the clouds for the tunnels between sites, one request for many of them.

Fields: learn.microsoft.com, "Virtual Network Gateway Connections" (``connectionStatus``, ``ingressBytesTransferred``,
``tunnelConnectionStatus``); docs.aws.amazon.com, EC2 API, ``DescribeVpnConnections`` and ``VgwTelemetry``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from clouds.aws.site import AwsSite
from clouds.azure.site import AzureSite
from components.model.groups import cloud_name
from components.model.links import LinkKind, links
from longhaul.status.observed import TunnelView

if TYPE_CHECKING:
    from components.model import Environment

NETWORK_VERSION = "2024-05-01"
AT_ONCE = 8


class UnseenError(Exception):
    """A cloud does not say; the message says why."""


def ipsec_links(environment: Environment) -> tuple[str, ...]:
    """The links that are tunnels."""
    return tuple(link.name for link in links(environment) if link.kind is LinkKind.IPSEC)


def ask_tunnels(environment: Environment) -> tuple[tuple[TunnelView, ...], dict[str, str]]:
    """The tunnels as every cloud site with any sees them, and which sites could not be asked, with the reason."""
    names = ipsec_links(environment)
    linked = {site for link in links(environment) if link.name in names for site in (link.first, link.second)}
    sites = [name for name in environment.sites if name in linked and environment.sites[name].kind != "onprem"]
    found: list[TunnelView] = []
    blind: dict[str, str] = {}
    with ThreadPoolExecutor(max_workers=AT_ONCE) as pool:
        asked = {site: pool.submit(_ask, environment, site, names) for site in sites}
        for site, answer in asked.items():
            try:
                found += answer.result()
            except UnseenError as error:
                blind[site] = str(error)
    return tuple(found), blind


def _ask(environment: Environment, site_name: str, names: Iterable[str]) -> list[TunnelView]:
    match environment.sites[site_name]:
        case AzureSite() as site:
            return _azure(environment, site_name, site, names)
        case AwsSite() as site:
            return _aws(environment, site_name, site, names)
        case _:
            return []


def link_of(environment: Environment, resource: str, names: Iterable[str]) -> str | None:
    """The link that a connection was made for, by its name (`components/links.py`); None for somebody else's."""
    prefix = cloud_name(environment, f"{environment.name}-links-")
    fitting = [name for name in names if resource.startswith(f"{prefix}{name}-")]
    return max(fitting, key=len, default=None)


def _azure(environment: Environment, site_name: str, site: AzureSite, names: Iterable[str]) -> list[TunnelView]:
    from clouds.azure.names import resource_group
    from clouds.azure.session import AzureError, ResourceManager
    from components.model.places import place_of

    manager = ResourceManager()
    group = f"/subscriptions/{site.subscription}/resourceGroups/{resource_group(place_of(environment, site_name))}"
    base = f"{group}/providers/Microsoft.Network/connections"
    try:
        # The list leaves out what changes by itself.
        return [
            azure_tunnel(link, site_name, manager.get(f"{base}/{name}", version=NETWORK_VERSION))
            for name in sorted(str(one["name"]) for one in manager.pages(base, version=NETWORK_VERSION))
            if (link := link_of(environment, name, names)) is not None
        ]
    except AzureError as error:
        raise UnseenError(str(error)) from None


def azure_tunnel(link: str, site: str, connection: Mapping[str, Any]) -> TunnelView:
    """A connection as Azure's gateway sees it: of its two instances one is enough, AWS expects only one."""
    properties = connection.get("properties", {})
    status = str(properties.get("connectionStatus", "Unknown"))
    established = [
        str(one.get("lastConnectionEstablishedUtcTime") or "")
        for one in properties.get("tunnelConnectionStatus") or []
        if one.get("connectionStatus") == "Connected"
    ]
    up = status == "Connected"
    return TunnelView(
        link=link,
        site=site,
        name=str(connection.get("name", "")),
        up=up,
        since=max(established, default=""),
        bytes_in=properties.get("ingressBytesTransferred"),
        bytes_out=properties.get("egressBytesTransferred"),
        reason="" if up else f"Azure says {status}",
    )


def _aws(environment: Environment, site_name: str, site: AwsSite, names: Iterable[str]) -> list[TunnelView]:
    from clouds.aws.session import AwsError, asked, shared

    wanted = {"tag:longhaul-environment": environment.name, "tag:longhaul-site": site_name}
    filters = [{"Name": name, "Values": [value]} for name, value in wanted.items()]
    try:
        with asked(f"AWS {site.region}"):
            answer = shared().client("ec2", site.region).describe_vpn_connections(Filters=filters)
    except AwsError as error:
        raise UnseenError(str(error)) from None
    return [
        view
        for connection in answer["VpnConnections"]
        if connection.get("State") != "deleted"
        for view in aws_tunnels(environment, site_name, connection, names)
    ]


def aws_tunnels(
    environment: Environment, site: str, connection: Mapping[str, Any], names: Iterable[str]
) -> list[TunnelView]:
    """A connection's two tunnels as AWS's gateway sees them; none for a connection that is not ours."""
    tags = {str(tag["Key"]): str(tag["Value"]) for tag in connection.get("Tags", [])}
    link = link_of(environment, f"{tags.get('Name', '')}-", names)
    if link is None:
        return []
    found = []
    for seen in connection.get("VgwTelemetry", []):
        changed, up = seen.get("LastStatusChange"), seen.get("Status") == "UP"
        found.append(
            TunnelView(
                link=link,
                site=site,
                name=f"{tags['Name']} {seen.get('OutsideIpAddress', '')}",
                up=up,
                since=changed.isoformat() if changed is not None else "",
                reason="" if up else f"AWS says {seen.get('StatusMessage') or seen.get('Status', 'nothing')}",
            )
        )
    return found
