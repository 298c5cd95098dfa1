"""Actions of AWS that the autoscaler needs (docs.aws.amazon.com, "Actions, resources, and condition keys for Amazon EC2
Auto Scaling" and "… for Amazon EC2")."""

from __future__ import annotations

LOOK = (
    "autoscaling:DescribeAutoScalingGroups",
    "autoscaling:DescribeScalingActivities",
    "ec2:DescribeInstances",
    "ec2:DescribeLaunchTemplates",
)
"""Actions of an autoscaler that looks; none of them can be limited to resources."""

ACT = ("autoscaling:SetDesiredCapacity", "autoscaling:TerminateInstanceInAutoScalingGroup")
"""Actions besides, of one that acts, on the groups of one environment."""
