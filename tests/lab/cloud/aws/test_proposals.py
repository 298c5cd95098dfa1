"""Tunnel options, translated to strongSwan's proposals."""

from __future__ import annotations

from typing import Any

from components.aws.vpn import tunnel_options
from components.onprem.vpn import ESP_PROPOSAL, IKE_PROPOSAL
from lab.cloud.aws.proposals import proposals


def listed(*values: Any) -> list[dict[str, Any]]:
    return [{"Value": value} for value in values]


def options(**changes: Any) -> dict[str, Any]:
    both = {"EncryptionAlgorithms": listed("AES256-GCM-16"), "IntegrityAlgorithms": listed("SHA2-384"),
            "DHGroupNumbers": listed(20)}  # fmt: skip
    return {f"Phase{phase}{name}": value for phase in (1, 2) for name, value in {**both, **changes}.items()}


def test_our_own_suite_is_what_the_racks_say() -> None:
    own = tunnel_options(1)
    assert own["tunnel1_phase1_encryption_algorithms"] == ["AES256-GCM-16"]
    assert own["tunnel1_phase2_dh_group_numbers"] == [20]
    assert proposals(options()) == (IKE_PROPOSAL, ESP_PROPOSAL)


def test_choices_are_lists() -> None:
    both = listed("AES128", "AES256-GCM-16")
    assert proposals(options(EncryptionAlgorithms=both, DHGroupNumbers=listed(14, 20))) == (
        "aes256gcm16-prfsha384-modp2048-ecp384,aes128-sha384-modp2048-ecp384",
        "aes256gcm16-modp2048-ecp384,aes128-sha384-modp2048-ecp384",
    )
