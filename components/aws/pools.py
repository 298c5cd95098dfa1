"""Node pools on AWS: the machine of a node (identity, launch template) and the number of nodes (auto scaling group)."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws
from pulumi import ComponentResource, CustomTimeouts, Output, ResourceOptions

from clouds.aws.disks import ROOT_DEVICE, default_disk_gib
from clouds.aws.names import node_role
from components.aws.account import aws_site
from components.aws.interfaces import Interface, interfaces
from components.aws.purchase import capacity_reservation, market_options
from components.model import Environment
from components.model.sites.cloud_names import pool_group
from components.model.sites.places import place_of
from contract.tag_keys import POOL

DELETE_TIMEOUT = "60m"
"""Longest time that the deletion of a group may take. The group exists until its last instance has ended, and machines
with many GPUs and local disks take long to end. With the provider's default of 10 minutes, `destroy` would fail while a
group still drains."""


@dataclass(frozen=True, kw_only=True)
class AwsNodeIdentityArgs:
    """Arguments of a site's node identity."""

    environment: Environment
    site_name: str
    tags: Mapping[str, str]


class AwsNodeIdentity(ComponentResource):
    """Role and instance profile of a site's nodes.

    The role has no policy: a node reads its addresses and its place from instance metadata, and proves its identity
    with a signed `GetCallerIdentity`, which needs no permission. Programs in pods bring their own identity, because the
    metadata is closed to pods. A permission granted here would be granted to everyone who becomes root on a node. Only
    EC2 may assume the role: EC2 names its sessions after their instances, and that name proves a node's identity.
    """

    role_arn: Output[str]
    """ARN of the role that nodes have."""
    instance_profile_arn: Output[str]
    """ARN of the instance profile, for launch templates."""

    def __init__(self, name: str, args: AwsNodeIdentityArgs, opts: ResourceOptions | None = None) -> None:
        super().__init__("longhaul:aws:NodeIdentity", name, None, opts)
        child = ResourceOptions(parent=self)
        role_name = node_role(place_of(args.environment, args.site_name))
        trust = {"Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com"}, "Action": "sts:AssumeRole"}
        role = aws.iam.Role(
            f"{name}-role",
            name=role_name,
            description="A Longhaul node; has no permissions.",
            assume_role_policy=json.dumps({"Version": "2012-10-17", "Statement": [trust]}),
            permissions_boundary=args.environment.access.aws_permissions_boundary,
            tags=args.tags,
            opts=child,
        )
        profile = aws.iam.InstanceProfile(f"{name}-profile", name=role_name, role=role.name, tags=args.tags, opts=child)
        self.role_arn, self.instance_profile_arn = role.arn, profile.arn
        self.register_outputs({"role_arn": self.role_arn})


@dataclass(frozen=True, kw_only=True)
class AwsPoolArgs:
    """Arguments of a pool."""

    environment: Environment
    pool_name: str
    """Name of a pool of the environment, on an AWS site."""
    subnet_ids: Sequence[pulumi.Input[str]]
    """The node subnets of the pool's zones."""
    security_group_id: pulumi.Input[str]
    instance_profile_arn: pulumi.Input[str]
    user_data: pulumi.Input[str]
    """Input of cloud-init as plain text, within AWS's limit. A change applies to new machines only: running ones may be
    in the middle of a job."""
    tags: Mapping[str, str]


class AwsPool(ComponentResource):
    """Machines of one type in one site. Once the group exists, the autoscaler decides how many there are."""

    group_name: Output[str]
    """Name of the auto scaling group that the autoscaler sizes."""
    group_arn: Output[str]
    """ARN of the same group, for policies."""

    def __init__(self, name: str, args: AwsPoolArgs, opts: ResourceOptions | None = None) -> None:
        super().__init__("longhaul:aws:Pool", name, None, opts)
        self._name, self._args = name, args
        self._cloud_name = pool_group(args.environment, args.pool_name)
        self._pool = args.environment.pools[args.pool_name]
        self._site = aws_site(args.environment, self._pool.site)
        self._machine = args.environment.machine_type(self._pool.machine_type)
        self._tags = {**args.tags, POOL: args.pool_name}
        self._child = ResourceOptions(parent=self)
        group = self._group(self._template())
        self.group_name, self.group_arn = group.name, group.arn
        self.register_outputs({"group_name": self.group_name})

    def _template(self) -> aws.ec2.LaunchTemplate:
        return aws.ec2.LaunchTemplate(
            f"{self._name}-template",
            region=self._site.region,
            name=self._cloud_name,
            update_default_version=True,
            image_id=self._site.image,
            instance_type=self._pool.machine_type,
            iam_instance_profile=aws.ec2.LaunchTemplateIamInstanceProfileArgs(arn=self._args.instance_profile_arn),
            # Tokens only, and at most one hop: a pod cannot use the node's identity.
            metadata_options=aws.ec2.LaunchTemplateMetadataOptionsArgs(
                http_endpoint="enabled", http_tokens="required", http_put_response_hop_limit=1
            ),
            network_interfaces=self._interfaces(),
            block_device_mappings=[_root_disk(self._pool.system_disk_gib or default_disk_gib(self._machine))],
            ebs_optimized="true",
            instance_initiated_shutdown_behavior="terminate",
            instance_market_options=market_options(self._pool),
            capacity_reservation_specification=capacity_reservation(self._pool),
            tag_specifications=[
                aws.ec2.LaunchTemplateTagSpecificationArgs(resource_type=kind, tags=self._tags)
                for kind in ("volume", "network-interface")
            ],
            user_data=Output.from_input(self._args.user_data).apply(_encode),
            tags=self._tags,
            opts=self._child,
        )

    def _interfaces(self) -> list[Interface]:
        kind = self._machine
        return interfaces(
            self._args.security_group_id,
            efa_cards=kind.efa_cards if self._pool.efa else 0,
            efa_first_card=kind.efa_first_card,
        )

    def _placement_group(self) -> Output[str] | None:
        """Make the pool's placement group and return its name; None when the pool has none."""
        if not self._pool.placement_group:
            return None
        return aws.ec2.PlacementGroup(
            f"{self._name}-placement",
            region=self._site.region,
            name=self._cloud_name,
            strategy="cluster",
            tags=self._tags,
            opts=self._child,
        ).name

    def _group(self, template: aws.ec2.LaunchTemplate) -> aws.autoscaling.Group:
        return aws.autoscaling.Group(
            f"{self._name}-group",
            region=self._site.region,
            name=self._cloud_name,
            min_size=self._pool.min,
            max_size=self._pool.max,
            desired_capacity=self._pool.min,
            vpc_zone_identifiers=list(self._args.subnet_ids),
            launch_template=aws.autoscaling.GroupLaunchTemplateArgs(
                id=template.id, version=template.latest_version.apply(str)
            ),
            placement_group=self._placement_group(),
            health_check_type="EC2",
            # Rebalancing between zones would end machines that are in the middle of a job.
            suspended_processes=["AZRebalance"],
            # When a group's size is set below the number of its machines, AWS chooses which machines to end, by age and
            # zone. This protection prevents that. It prevents neither ending machines by name
            # (clouds/aws/live_groups.py) nor the end after a failed health check (docs.aws.amazon.com, "Use instance
            # scale-in protection"). Upon deletion the provider lifts it.
            protect_from_scale_in=True,
            # Rebalancing would end machines that may run for hours yet, and would not wait for their pods. A node that
            # AWS takes back reports that itself (node/interruption_watch.py).
            capacity_rebalance=False,
            # A GPU type may be out of capacity for days. The autoscaler handles that; it is no reason for `up` to fail.
            wait_for_capacity_timeout="0",
            tags=[
                aws.autoscaling.GroupTagArgs(key=key, value=value, propagate_at_launch=True)
                for key, value in {**self._tags, "Name": self._cloud_name}.items()
            ],
            # An update sends the size only where it differs from the state's, and here it never does
            # (terraform-provider-aws, internal/service/autoscaling/group.go, resourceGroupUpdate): a group that was
            # scaled keeps its size.
            opts=ResourceOptions(
                parent=self,
                ignore_changes=["desiredCapacity"],
                custom_timeouts=CustomTimeouts(delete=DELETE_TIMEOUT),
            ),
        )


def _root_disk(size_gib: int) -> aws.ec2.LaunchTemplateBlockDeviceMappingArgs:
    return aws.ec2.LaunchTemplateBlockDeviceMappingArgs(
        device_name=ROOT_DEVICE,
        ebs=aws.ec2.LaunchTemplateBlockDeviceMappingEbsArgs(
            volume_type="gp3", volume_size=size_gib, encrypted="true", delete_on_termination="true"
        ),
    )


def _encode(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
