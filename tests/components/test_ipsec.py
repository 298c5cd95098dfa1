"""All gateways declare the same IPsec suite in their own terms; the lab's gateways translate them for comparison."""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from typing import Any

import jinja2

from clouds.base.ipsec import SUITE
from components.onprem.vpn import ESP_PROPOSAL, IKE_PROPOSAL
from lab.cloud.aws.proposals import proposals
from lab.cloud.azure import ipsec as azure_ipsec
from tests.support import production
from tests.support.project import REPOSITORY

GATEWAY = REPOSITORY / "playbooks" / "roles" / "gateway" / "templates"
STRONGSWAN = ("aes256gcm16-prfsha384-ecp384", "aes256gcm16-ecp384")
"""AES-256-GCM with tags of 16 bytes, SHA-384, ECP-384: for IKE, and for the tunnels."""


def on_aws(inputs: dict[str, Any], tunnel: int) -> dict[str, Any]:
    """Return a tunnel's options as EC2's interface has them."""
    said = {}
    for phase in (1, 2):
        for theirs, ours in (
            ("EncryptionAlgorithms", "EncryptionAlgorithms"),
            ("IntegrityAlgorithms", "IntegrityAlgorithms"),
            ("DHGroupNumbers", "DhGroupNumbers"),
        ):
            values = inputs[f"tunnel{tunnel}Phase{phase}{ours}"]
            said[f"Phase{phase}{theirs}"] = [{"Value": value} for value in values]
    return said


def test_every_tunnel_is_sealed_alike() -> None:
    program = production.production_program()
    aws = program.of("aws:ec2/vpnConnection:VpnConnection")
    azure = program.of("azure-native:network:VirtualNetworkGatewayConnection")
    racks = [tunnel for tunnels in program.outputs["tunnels"].values() for tunnel in tunnels]
    assert aws
    assert azure
    assert racks
    for connection in aws:
        for tunnel in (1, 2):
            own = connection.inputs
            assert proposals(on_aws(own, tunnel)) == STRONGSWAN
            lives = (own[f"tunnel{tunnel}Phase1LifetimeSeconds"], own[f"tunnel{tunnel}Phase2LifetimeSeconds"])
            assert (*lives, own[f"tunnel{tunnel}DpdTimeoutSeconds"]) == (28_800, 3_600, 30)
    for connection in azure:
        [policy] = connection.inputs["ipsecPolicies"]
        assert (azure_ipsec.ike_proposal(policy), azure_ipsec.esp_proposal(policy)) == STRONGSWAN
        lives = (azure_ipsec.IKE_LIFETIME_S, policy["saLifeTimeSeconds"])
        assert (*lives, connection.inputs["dpdTimeoutSeconds"]) == (28_800, 3_600, 30)
    for tunnel in racks:
        assert (tunnel["ike_proposal"], tunnel["esp_proposal"], tunnel["dpd_seconds"]) == (*STRONGSWAN, 30)


def test_racks_renew_keys_before_they_end() -> None:
    written = (GATEWAY / "swanctl.conf.j2").read_text(encoding="utf-8")
    units = {"h": 3600, "m": 60}
    ike, tunnel = (int(number) * units[unit] for number, unit in re.findall(r"rekey_time = (\d+)([hm])", written))
    assert SUITE.ike_s * 0.8 < ike < SUITE.ike_s
    assert SUITE.tunnel_s * 0.8 < tunnel < SUITE.tunnel_s


def test_racks_load_the_key_that_they_show_last() -> None:
    """strongSwan puts what it loads before what it has (strongswan 6.0, credentials/sets/mem_cred.c), and shows the
    first (credential_manager.c, ``get_shared``)."""
    environment = jinja2.Environment(trim_blocks=True, undefined=jinja2.StrictUndefined, autoescape=False)
    environment.filters["b64encode"] = lambda text: b64encode(text.encode()).decode()
    tunnel = tunnel_item() | {"key": "new", "others": ["former", "one before"]}
    text = environment.from_string((GATEWAY / "swanctl.conf.j2").read_text(encoding="utf-8")).render(
        gateway_tunnels=[tunnel, tunnel_item() | {"name": "b", "key": "k"}],
        gateway_has_public_address=True,
        gateway_public_address="198.51.100.1",
        gateway_uses_libipsec=False,
    )
    loaded = re.findall(
        r"^  (\S+) \{\n    id-local = (\S+)\n    id-remote = (\S+)\n    secret = 0s(\S+)$", text, re.MULTILINE
    )
    assert [(name, b64decode(key).decode()) for name, _, _, key in loaded] == [
        ("ike1-a", "former"),
        ("ike2-a", "one before"),
        ("ike-a", "new"),
        ("ike-b", "k"),
    ]
    assert {(near, far) for _, near, far, _ in loaded} == {("198.51.100.1", "198.51.100.2")}


def tunnel_item() -> dict[str, Any]:
    """Return a tunnel as a release without rotations exported it."""
    return {
        "name": "a",
        "remote_site": "far",
        "local_address": "198.51.100.1",
        "remote_address": "198.51.100.2",
        "local_block": "10.1.0.0/16",
        "remote_block": "10.2.0.0/16",
        "ike_proposal": IKE_PROPOSAL,
        "esp_proposal": ESP_PROPOSAL,
        "dpd_seconds": 30,
        "key": "k",
    }
