"""VPN connections, each with its own tunnels; moto gives all connections the same constant tunnels."""

from __future__ import annotations

import datetime
import re
import secrets
import string
from collections.abc import Iterator, Mapping
from ipaddress import IPv4Address, IPv4Network
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape

from moto.ec2.exceptions import EC2ClientError
from moto.ec2.models.vpn_connections import VPNConnection, VPNConnectionBackend
from moto.ec2.utils import random_vpn_connection_id

from lab.cloud.aws.addresses import next_public
from lab.cloud.aws.proposals import proposals
from lab.cloud.aws.quotas import CONNECTIONS, REGION_CONNECTIONS, check_quota

if TYPE_CHECKING:
    from lab.cloud.aws.owner import Owner

TUNNELS = 2
KEY_LENGTH = 32
INSIDE = IPv4Network("169.254.64.0/18")
"""Range from which tunnels' inside ranges (/30) are taken. The API shows the inside ranges, but the lab's tunnels do
not use them."""
DEFAULTS: dict[str, Any] = {
    "ReplayWindowSize": 1024,
    "RekeyMarginTimeSeconds": 270,
    "RekeyFuzzPercentage": 100,
    "Phase1LifetimeSeconds": 28800,
    "Phase2LifetimeSeconds": 3600,
    "DpdTimeoutSeconds": 30,
    "DpdTimeoutAction": "clear",
    "StartupAction": "add",
    "Phase1EncryptionAlgorithms": ["AES128", "AES256", "AES128-GCM-16", "AES256-GCM-16"],
    "Phase2EncryptionAlgorithms": ["AES128", "AES256", "AES128-GCM-16", "AES256-GCM-16"],
    "Phase1IntegrityAlgorithms": ["SHA1", "SHA2-256", "SHA2-384", "SHA2-512"],
    "Phase2IntegrityAlgorithms": ["SHA1", "SHA2-256", "SHA2-384", "SHA2-512"],
    "Phase1DHGroupNumbers": [2, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24],
    "Phase2DHGroupNumbers": [2, 5, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24],
    "IkeVersions": ["ikev1", "ikev2"],
}
"""Defaults of a tunnel: docs.aws.amazon.com/vpn/latest/s2svpn/VPNTunnels.html, section "Tunnel options"."""
_ASKED = {
    "DpdTimeoutSeconds": "DPDTimeoutSeconds",
    "DpdTimeoutAction": "DPDTimeoutAction",
    "IkeVersions": "IKEVersions",
}
"""Names of options in requests, where the spelling differs from that in answers."""


class LabVpnConnection(VPNConnection):
    """One connection with its own two tunnels."""

    options: Any
    vgw_telemetry: list[dict[str, Any]]
    routes: list[dict[str, Any]]

    @property
    def customer_gateway_configuration(self) -> str:
        """Return the document from which the other side is set up, with each tunnel's address and key."""
        tunnels = "".join(_document(tunnel, self.remote_address) for tunnel in self.tunnel_options)
        head = f'<vpn_connection id="{escape(self.id)}">'
        ids = f"<customer_gateway_id>{self.customer_gateway_id}</customer_gateway_id>"
        ids += f"<vpn_gateway_id>{self.vpn_gateway_id}</vpn_gateway_id>"
        return f"{head}{ids}<vpn_connection_type>{self.type}</vpn_connection_type>{tunnels}</vpn_connection>"

    @property
    def tunnel_options(self) -> list[dict[str, Any]]:
        """Return the options of each tunnel: those requested, completed with the defaults."""
        tunnels: list[dict[str, Any]] = self.options["TunnelOptions"]
        return tunnels

    @property
    def remote_address(self) -> str:
        gateway = self.ec2_backend.get_customer_gateway(self.customer_gateway_id)
        return str(gateway.ip_address)

    def tell(self, states: Mapping[str, Any]) -> None:
        """Store the hypervisor's view of the tunnels, by tunnel name."""
        self.vgw_telemetry = [
            _telemetry(tunnel, states.get(tunnel_name(self.id, index)), accepted=len(self.routes))
            for index, tunnel in enumerate(self.tunnel_options)
        ]


class LabVpnConnections(VPNConnectionBackend):
    """VPN connections of one region."""

    account: Owner
    region_name: str

    def same_customer_gateway(self, wanted: Mapping[str, Any]) -> Any:
        """Return the customer gateway with the type, address, AS number and device name of a request, or None."""
        told_apart = {
            "type": wanted["Type"],
            "ip_address": wanted.get("IpAddress") or wanted.get("PublicIp"),
            "bgp_asn": wanted.get("BgpAsn"),
            "device_name": wanted.get("DeviceName"),
        }
        gateways: Iterator[Any] = iter(self.customer_gateways.values())  # type: ignore[attr-defined]
        return next(
            (
                gateway
                for gateway in gateways
                if gateway.state != "deleted"
                and all(getattr(gateway, key, None) == value for key, value in told_apart.items())
            ),
            None,
        )

    def create_vpn_connection(
        self,
        vpn_conn_type: str,
        customer_gateway_id: str,
        vpn_gateway_id: str | None = None,
        transit_gateway_id: str | None = None,
        tags: dict[str, str] | None = None,
    ) -> LabVpnConnection:
        """Create a connection without tunnels; :meth:`open_tunnels` makes them."""
        if transit_gateway_id or not vpn_gateway_id:
            raise EC2ClientError("MissingParameter", "The lab's connections end at a VPN gateway: VpnGatewayId")
        self.get_customer_gateway(customer_gateway_id)  # type: ignore[attr-defined]
        self.get_vpn_gateway(vpn_gateway_id)  # type: ignore[attr-defined]
        self._check_quotas(vpn_gateway_id)
        connection = LabVpnConnection(
            self,
            vpn_connection_id=random_vpn_connection_id(),
            vpn_conn_type=vpn_conn_type,
            customer_gateway_id=customer_gateway_id,
            vpn_gateway_id=vpn_gateway_id,
            tags=tags,
        )
        connection.routes = []
        connection.vgw_telemetry = []
        connection.options = {"TunnelOptions": []}
        self.vpn_connections[connection.id] = connection
        return connection

    def _check_quotas(self, gateway_id: str) -> None:
        gateways = [connection.vpn_gateway_id for connection in self.alive()]
        for quota, used in ((CONNECTIONS, gateways.count(gateway_id)), (REGION_CONNECTIONS, len(gateways))):
            check_quota(quota, used, applied=self.account.quotas, region=self.region_name)

    def open_tunnels(self, connection: LabVpnConnection, asked: Mapping[str, Any]) -> None:
        """Give a connection its two tunnels, with addresses, keys and proposals as requested."""
        given = [*asked.get("TunnelOptions", []), {}, {}][:TUNNELS]
        connection.options = {
            "StaticRoutesOnly": bool(asked.get("StaticRoutesOnly", False)),
            "EnableAcceleration": False,
            "LocalIpv4NetworkCidr": asked.get("LocalIpv4NetworkCidr") or "0.0.0.0/0",
            "RemoteIpv4NetworkCidr": asked.get("RemoteIpv4NetworkCidr") or "0.0.0.0/0",
            "OutsideIpAddressType": "PublicIpv4",
            "TunnelInsideIpVersion": "ipv4",
            "TunnelOptions": [],
        }
        for options in given:
            connection.options["TunnelOptions"].append(self._tunnel(options))
        connection.tell({})

    def _tunnel(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        outside = next_public(self.account.public_addresses())
        inside = asked.get("TunnelInsideCidr") or str(self._inside())
        made: dict[str, Any] = {
            "OutsideIpAddress": str(outside),
            "TunnelInsideCidr": inside,
            "PreSharedKey": asked.get("PreSharedKey") or new_key(),
        }
        for name, default in DEFAULTS.items():
            value = asked.get(_ASKED.get(name, name)) or default
            made[name] = _values(value) if isinstance(default, list) else value
        _check(made)
        return made

    def change_tunnel(self, connection_id: str, address: str, asked: Mapping[str, Any]) -> LabVpnConnection:
        """Give the tunnel at an outside address another key, and return its connection. A tunnel that is up with the
        former key goes down (docs.aws.amazon.com, "Site-to-Site VPN tunnel endpoint replacements")."""
        connection = self._connection(connection_id)
        tunnels = [tunnel for tunnel in connection.tunnel_options if tunnel["OutsideIpAddress"] == address]
        if not tunnels:
            text = f"The connection {connection_id} has no tunnel at {address}."
            raise EC2ClientError("InvalidParameterValue", text)
        if set(asked) != {"PreSharedKey"}:
            raise EC2ClientError("InvalidParameterValue", "The lab changes a tunnel's key and nothing else of it.")
        _check({**tunnels[0], **asked})
        tunnels[0].update(asked)
        return connection

    def tunnel_addresses(self) -> Iterator[IPv4Address]:
        """Yield the outside addresses of all existing tunnels."""
        for connection in self.alive():
            for tunnel in connection.tunnel_options:
                yield IPv4Address(tunnel["OutsideIpAddress"])

    def alive(self) -> Iterator[LabVpnConnection]:
        """Yield the connections that are not deleted."""
        for connection in self.vpn_connections.values():
            if isinstance(connection, LabVpnConnection) and connection.state != "deleted":
                yield connection

    def add_route(self, connection_id: str, destination: str) -> None:
        """Add a static route: a destination that the gateway sends into this connection."""
        connection = self._connection(connection_id)
        self.remove_route(connection_id, destination, missing_ok=True)
        route = {"DestinationCidrBlock": destination, "Source": "Static", "State": "available"}
        connection.routes.append(route)

    def remove_route(self, connection_id: str, destination: str, *, missing_ok: bool = False) -> None:
        connection = self._connection(connection_id)
        left = [route for route in connection.routes if route["DestinationCidrBlock"] != destination]
        if len(left) == len(connection.routes) and not missing_ok:
            text = f"The specified route {destination} does not exist in {connection_id}"
            raise EC2ClientError("InvalidRoute.NotFound", text)
        connection.routes = left

    def _connection(self, connection_id: str) -> LabVpnConnection:
        for connection in self.alive():
            if connection.id == connection_id:
                return connection
        text = f"The vpnConnection ID '{connection_id}' does not exist"
        raise EC2ClientError("InvalidVpnConnectionID.NotFound", text)

    def _inside(self) -> IPv4Network:
        used = {tunnel["TunnelInsideCidr"] for connection in self.alive() for tunnel in connection.tunnel_options}
        return next(range_ for range_ in INSIDE.subnets(new_prefix=30) if str(range_) not in used)


def tunnel_name(connection_id: str, index: int) -> str:
    """Return the hypervisor's name of a tunnel."""
    return f"{connection_id}-{index + 1}"


def new_key() -> str:
    """Make a pre-shared key as AWS does: letters, digits, dots and underscores, with a letter first."""
    letters = string.ascii_letters + string.digits + "._"
    return secrets.choice(string.ascii_letters) + "".join(secrets.choice(letters) for _ in range(KEY_LENGTH - 1))


def _check(tunnel: Mapping[str, Any]) -> None:
    """Raise EC2ClientError for options that AWS would refuse."""
    if not re.fullmatch(r"[A-Za-z1-9._][A-Za-z0-9._]{7,63}", tunnel["PreSharedKey"]):
        text = "A pre-shared key has 8 to 64 letters, digits, dots and underscores, and does not start with 0."
        raise EC2ClientError("InvalidParameterValue", text)
    try:
        proposals(tunnel)
    except (KeyError, ValueError) as problem:
        raise EC2ClientError("InvalidParameterValue", f"The tunnel option {problem} is not known.") from problem


def _values(values: list[Any]) -> list[dict[str, Any]]:
    return [value if isinstance(value, dict) else {"Value": value} for value in values]


def _telemetry(tunnel: Mapping[str, Any], state: Any, *, accepted: int) -> dict[str, Any]:
    up = state is not None and state.up
    return {
        "OutsideIpAddress": tunnel["OutsideIpAddress"],
        "Status": "UP" if up else "DOWN",
        "StatusMessage": "",
        "AcceptedRouteCount": accepted if up else 0,
        "LastStatusChange": datetime.datetime.fromtimestamp(state.since if state else 0.0, tz=datetime.UTC),
    }


def _document(tunnel: Mapping[str, Any], remote: str) -> str:
    inside = IPv4Network(tunnel["TunnelInsideCidr"])
    near, far = inside[1], inside[2]
    return (
        "<ipsec_tunnel>"
        f"<customer_gateway>{_end(remote, str(far))}</customer_gateway>"
        f"<vpn_gateway>{_end(tunnel['OutsideIpAddress'], str(near))}</vpn_gateway>"
        f"<ike><lifetime>{tunnel['Phase1LifetimeSeconds']}</lifetime>"
        f"<pre_shared_key>{escape(tunnel['PreSharedKey'])}</pre_shared_key></ike>"
        f"<ipsec><protocol>esp</protocol><lifetime>{tunnel['Phase2LifetimeSeconds']}</lifetime></ipsec>"
        "</ipsec_tunnel>"
    )


def _end(outside: str, inside: str) -> str:
    address = f"<tunnel_outside_address><ip_address>{escape(outside)}</ip_address></tunnel_outside_address>"
    mask = "<network_mask>255.255.255.252</network_mask><network_cidr>30</network_cidr>"
    return f"{address}<tunnel_inside_address><ip_address>{inside}</ip_address>{mask}</tunnel_inside_address>"
