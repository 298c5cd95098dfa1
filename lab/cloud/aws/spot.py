"""Takes spot instances back on a test's request, and announces the interruption in their metadata, as EC2 does.

docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-instance-termination-notices.html and rebalance-recommendations.html.
"""

from __future__ import annotations

import datetime
import json
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lab.cloud.aws.account import AwsAccount
    from lab.cloud.aws.moto_ec2 import LabEc2

NOTICE_S = 120.0
"""Seconds between the notice and the end of the instance."""
INTERRUPTION, REBALANCE = "interruption", "rebalance"
NOTICES = (INTERRUPTION, REBALANCE)


def warn(account: AwsAccount, instance_id: str, notice: str, *, within_s: float = NOTICE_S) -> None:
    """Give a spot instance a notice: ``interruption`` in ``within_s`` seconds, or the recommendation to replace the
    instance (``rebalance``). A group with capacity rebalancing follows the recommendation by itself.

    Raises:
        LookupError: there is no such spot instance, or no such notice.
    """
    match = next((pair for pair in account.instances() if pair[1].id == instance_id), None)
    if match is None or match[1].lifecycle != "spot" or notice not in NOTICES:
        raise LookupError(f"there is no spot instance {instance_id}, or no notice {notice!r}: {', '.join(NOTICES)}")
    ec2, instance = match
    if notice == INTERRUPTION:
        instance.taken_back_at = time.time() + within_s
        return
    instance.recommended_at = time.time()
    for group in account.objects.scaling[ec2.region_name].groups():
        group.rebalance(instance_id)


def due(account: AwsAccount) -> Iterator[tuple[LabEc2, str]]:
    """Yield the running instances whose notice has run out, with their region's EC2."""
    now = time.time()
    for ec2, instance in account.instances():
        if instance.state == "running" and getattr(instance, "taken_back_at", now + 1) <= now:
            yield ec2, instance.id


def metadata(instance: Any) -> dict[str, Any]:
    """Return the entries of the instance's metadata about its notices; an entry without a notice is None."""
    ends, recommended = (getattr(instance, name, None) for name in ("taken_back_at", "recommended_at"))
    spot = {
        "instance-action": json.dumps({"action": "terminate", "time": _text(ends)}),
        "termination-time": _text(ends),
    }
    rebalance = {"rebalance": json.dumps({"noticeTime": _text(recommended)})}
    return {
        "events": {"recommendations": rebalance} if recommended else None,
        "spot": spot if ends else None,
    }


def _text(moment: float | None) -> str:
    return datetime.datetime.fromtimestamp(moment or 0.0, tz=datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
