"""What an on-prem site is to others: its gateways' addresses; and what they are to it: the tunnels it has to hold."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network

import pulumi
from pulumi import Output

from clouds.base.ipsec import SUITE
from clouds.onprem.site import OnpremSite
from components.model import AddressPlan, Environment

CIPHERS = {"AES-256-GCM": "aes256gcm16"}
DERIVATIONS = {"SHA-384": "prfsha384"}
GROUPS = {"ECP-384": "ecp384"}
"""strongSwan's words (docs.strongswan.org, "IKEv2 Cipher Suites")."""

IKE_PROPOSAL = "-".join((CIPHERS[SUITE.cipher], DERIVATIONS[SUITE.derivation], GROUPS[SUITE.group]))
"""The suite in strongSwan's words. Gateways renew keys before their life ends (playbooks/roles/gateway)."""

ESP_PROPOSAL = "-".join((CIPHERS[SUITE.cipher], GROUPS[SUITE.group]))
"""The same for the tunnel's own keys, with forward secrecy."""


@dataclass(frozen=True, kw_only=True)
class OnpremGateway:
    """A machine that ends tunnels."""

    name: str
    """Name in the environment file, `gw0`; the host is `<env>-<name>`."""
    address: IPv4Address
    """Static public address."""


def gateways(environment: Environment, site_name: str) -> tuple[OnpremGateway, ...]:
    """The gateways of an on-prem site, the first preferred; ``TypeError`` when the site is not on-prem."""
    site = environment.sites[site_name]
    if not isinstance(site, OnpremSite):
        raise TypeError(f"site {site_name} is {site.kind}, not onprem")
    return tuple(OnpremGateway(name=gateway.name, address=gateway.public_address) for gateway in site.gateways)


@dataclass(frozen=True, kw_only=True)
class OnpremTunnel:
    """One tunnel from the view of the gateway that holds it."""

    name: str
    """Unique in the environment."""
    site: str
    gateway: str
    """The gateway's name in the environment file."""
    remote_site: str
    remote_address: pulumi.Input[str]
    """Public address of the other end."""
    key: pulumi.Input[str]
    """Pre-shared key."""


def tunnels_export(
    environment: Environment, addresses: AddressPlan, tunnels: Iterable[OnpremTunnel]
) -> dict[str, Output[list[dict[str, object]]]]:
    """By host name of each gateway, its tunnels as Ansible reads them from the stack's outputs: name, local and remote
    block, addresses, key, proposals. The whole list is secret."""
    by_gateway: dict[str, list[Output[dict[str, object]]]] = {
        f"{environment.name}-{gateway.name}": []
        for name, site in environment.sites.items()
        if isinstance(site, OnpremSite)
        for gateway in gateways(environment, name)
    }
    for tunnel in tunnels:
        by_gateway[f"{environment.name}-{tunnel.gateway}"].append(_export(environment, addresses, tunnel))
    return {host: Output.secret(Output.all(*held)) for host, held in by_gateway.items()}


def _export(environment: Environment, addresses: AddressPlan, tunnel: OnpremTunnel) -> Output[dict[str, object]]:
    own = {gateway.name: gateway.address for gateway in gateways(environment, tunnel.site)}
    fixed: dict[str, object] = {
        "name": tunnel.name,
        "remote_site": tunnel.remote_site,
        "local_address": str(own[tunnel.gateway]),
        "local_block": _text(addresses.sites[tunnel.site].block),
        "remote_block": _text(addresses.sites[tunnel.remote_site].block),
        "ike_proposal": IKE_PROPOSAL,
        "esp_proposal": ESP_PROPOSAL,
        "dpd_seconds": SUITE.silence_s,
    }
    varying = Output.all(remote_address=tunnel.remote_address, key=tunnel.key)
    return varying.apply(lambda values: {**fixed, **values})


def _text(range_: IPv4Network) -> str:
    return str(range_)
