"""IPsec policies, translated to strongSwan's proposals."""

from __future__ import annotations

from typing import Any

import pytest

from lab.cloud.azure.ipsec import esp_proposal, ike_proposal
from tests.lab.cloud import links


@pytest.mark.parametrize(
    ("policy", "ike", "esp"),
    [
        (links.policy(), "aes256gcm16-prfsha384-ecp384", "aes256gcm16-ecp384"),
        (
            links.policy(
                ikeEncryption="AES256",
                ikeIntegrity="SHA256",
                dhGroup="DHGroup14",
                ipsecEncryption="AES128",
                ipsecIntegrity="SHA1",
                pfsGroup="None",
            ),
            "aes256-sha256-modp2048",
            "aes128-sha1",
        ),
    ],
)
def test_policies_in_strongswans_words(policy: dict[str, Any], ike: str, esp: str) -> None:
    assert (ike_proposal(policy), esp_proposal(policy)) == (ike, esp)
