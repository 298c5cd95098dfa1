"""On-premises end of site-to-site IPsec: tunnels in the form that Ansible reads from the stack's outputs (role
``gateway``)."""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv4Network

import pulumi
from pulumi import Output

from clouds.base.ipsec import SUITE

CIPHERS = {"AES-256-GCM": "aes256gcm16"}
DERIVATIONS = {"SHA-384": "prfsha384"}
GROUPS = {"ECP-384": "ecp384"}
"""Names of algorithms in strongSwan (docs.strongswan.org, "IKEv2 Cipher Suites")."""

IKE_PROPOSAL = "-".join((CIPHERS[SUITE.cipher], DERIVATIONS[SUITE.derivation], GROUPS[SUITE.group]))
"""The suite as strongSwan's proposal for IKE. Gateways renew keys before the keys expire (playbooks/roles/gateway)."""

ESP_PROPOSAL = "-".join((CIPHERS[SUITE.cipher], GROUPS[SUITE.group]))
"""The suite as strongSwan's proposal for the tunnel's own keys, with forward secrecy."""

TunnelEnd = Output[dict[str, object]]


def tunnel(
    name: str,
    *,
    remote_site: str,
    local_address: str,
    local: IPv4Network,
    remote: IPv4Network,
    remote_address: pulumi.Input[str],
    key: pulumi.Input[str],
    others: pulumi.Input[Sequence[str]],
) -> TunnelEnd:
    """Return one tunnel for the gateway that makes it: ``name``, unique in the environment, public addresses of both
    ends, the sites' blocks, the pre-shared key in use, and others that are accepted as well."""
    fixed: dict[str, object] = {
        "name": name,
        "remote_site": remote_site,
        "local_address": local_address,
        "local_block": str(local),
        "remote_block": str(remote),
        "ike_proposal": IKE_PROPOSAL,
        "esp_proposal": ESP_PROPOSAL,
        "dpd_seconds": SUITE.silence_s,
    }
    varying = Output.all(remote_address=remote_address, key=key, others=others)
    return varying.apply(lambda values: {**fixed, **values})
