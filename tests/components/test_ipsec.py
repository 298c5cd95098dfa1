"""All gateways declare the same IPsec suite in their own terms; the lab's gateways translate them for comparison."""

from __future__ import annotations

import re
from typing import Any

from clouds.base.ipsec import SUITE
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
