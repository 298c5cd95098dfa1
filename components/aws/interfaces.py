"""Network interfaces of a pool's machines on AWS."""

from __future__ import annotations

import pulumi
import pulumi_aws as aws

Interface = aws.ec2.LaunchTemplateNetworkInterfaceArgs


def interfaces(security_group_id: pulumi.Input[str], *, efa_cards: int, efa_first_card: int = 0) -> list[Interface]:
    """Return the interfaces of a machine with ``efa_cards`` Elastic Fabric Adapters, on the cards from
    ``efa_first_card`` on. The auto scaling group chooses the subnet.

    The first interface has the node's address and one /28 for its pods. Every further network card has an adapter
    without addresses. Device indices are 0 on the first card and 1 on the others; only the others may be ``efa-only``
    (docs.aws.amazon.com, "Maximize network bandwidth on Amazon EC2 instances with multiple network cards").
    """
    cards = efa_first_card + efa_cards if efa_cards else 1
    first = Interface(
        device_index=0,
        ipv4_prefix_count=1,
        interface_type="efa" if efa_cards and not efa_first_card else None,
        network_card_index=0 if cards > 1 else None,
        # EC2 refuses this parameter, whatever its value, when there is a second interface. The machine then gets no
        # public address, whatever the subnet's setting.
        associate_public_ip_address="false" if cards <= 1 else None,
        delete_on_termination="true",
        security_groups=[security_group_id],
    )
    more = [
        Interface(
            device_index=1,
            network_card_index=card,
            interface_type="efa-only",
            delete_on_termination="true",
            security_groups=[security_group_id],
        )
        for card in range(1, cards)
    ]
    return [first, *more]
