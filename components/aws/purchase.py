"""Purchase of a pool's machines on AWS: on demand, as spare capacity, or from a reservation."""

from __future__ import annotations

import pulumi_aws as aws

from clouds.aws.pool_checks import is_group
from clouds.base.pool_section import Pool


def market_options(pool: Pool) -> aws.ec2.LaunchTemplateInstanceMarketOptionsArgs | None:
    """Return the market options of a pool's machines; None when they are bought on demand.

    A Capacity Block has a market type of its own, and EC2 refuses the block's reservation without that type
    (docs.aws.amazon.com, "Use Capacity Blocks for machine learning workloads").
    """
    if pool.spot:
        return aws.ec2.LaunchTemplateInstanceMarketOptionsArgs(
            market_type="spot",
            spot_options=aws.ec2.LaunchTemplateInstanceMarketOptionsSpotOptionsArgs(
                spot_instance_type="one-time", instance_interruption_behavior="terminate"
            ),
        )
    if pool.reservation is not None and pool.reservation.kind == "capacity-block":
        return aws.ec2.LaunchTemplateInstanceMarketOptionsArgs(market_type="capacity-block")
    return None


def capacity_reservation(pool: Pool) -> aws.ec2.LaunchTemplateCapacityReservationSpecificationArgs | None:
    """Return the reservation that a pool's machines are launched into; None when the pool names none. EC2 accepts a
    target or a preference, not both (botocore, ``LaunchTemplateCapacityReservationSpecificationRequest``)."""
    if pool.reservation is None:
        return None
    id_, group = pool.reservation.id, is_group(pool.reservation)
    target = aws.ec2.LaunchTemplateCapacityReservationSpecificationCapacityReservationTargetArgs(
        capacity_reservation_id=None if group else id_,
        capacity_reservation_resource_group_arn=id_ if group else None,
    )
    return aws.ec2.LaunchTemplateCapacityReservationSpecificationArgs(capacity_reservation_target=target)
