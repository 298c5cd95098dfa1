"""Limits how many more instances of a type can be launched in a zone, and chooses the error of launches beyond the
limit. Quotas of other resources are in quotas.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

from moto.ec2.exceptions import EC2ClientError

if TYPE_CHECKING:
    from lab.cloud.aws.owner import Owner

SCARCE = ("p4d.", "p4de.", "p5.", "p5e.", "p5en.", "p6-", "trn1.", "trn2.")
"""Prefixes of the names of types that AWS sells in Capacity Blocks (docs.aws.amazon.com/AWSEC2/latest/UserGuide/
ec2-capacity-blocks.html). Without a reservation they are seldom available, so the lab has no capacity for them until a
test provides it."""

SHORT = "InsufficientInstanceCapacity"
SHORTAGES = {
    SHORT: "We currently do not have sufficient {kind} capacity in the Availability Zone you requested ({zone}). Our "
    "system will be working on provisioning additional capacity. You can currently get {kind} capacity by not "
    "specifying an Availability Zone in your request or choosing another.",
    "VcpuLimitExceeded": "You have requested more vCPU capacity than your current vCPU limit of 0 allows for the "
    "instance bucket that the specified instance type belongs to. Please visit "
    "http://aws.amazon.com/contact-us/ec2-request to request an adjustment to this limit.",
    "MaxSpotInstanceCountExceeded": "Max spot instance count exceeded.",
    "SpotMaxPriceTooLow": "Your Spot request price of 0.015 is lower than the minimum required Spot request "
    "fulfillment price of 0.0735.",
    "UnfulfillableCapacity": "There is no Spot capacity available that matches your request.",
}
"""Messages of refused launches, by error code (docs.aws.amazon.com, EC2 API, "Error codes"; EC2 Auto Scaling, "EC2
instance launch failures")."""


def take_capacity(account: Owner, kind: str, zone: str, *, look_only: bool = False) -> None:
    """Take the capacity for one more instance of a type in a zone. With ``look_only``, only check that there is
    capacity, and that the lab has room for one more instance.

    Raises:
        EC2ClientError: there is no capacity, or no room.
    """
    key = capacity_key(kind, zone)
    left = account.capacity.get(key, 0 if kind.startswith(SCARCE) else None)
    if look_only and not account.room(account.instance_ids()):
        left = 0  # As in AWS, a group keeps asking: the lab has room again when machines end.
    if left is None:
        return
    if left <= 0:
        code = account.shortages.get(key, SHORT)
        raise EC2ClientError(code, SHORTAGES[code].format(kind=kind, zone=zone))
    if not look_only:
        account.capacity[key] = left - 1


def capacity_key(kind: str, zone: str) -> str:
    """Return the key of a capacity limit."""
    return f"{kind}@{zone}"
