"""One site on AWS, whole: its network, what its nodes are to AWS, its pools."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pulumi
from pulumi import ComponentResource, ResourceOptions

from components.aws.account import tags
from components.aws.machines import AwsNodeIdentity, AwsNodeIdentityArgs, AwsPool, AwsPoolArgs
from components.aws.network import AwsSiteNetwork, AwsSiteNetworkArgs
from components.model import AddressPlan, Environment


@dataclass(frozen=True, kw_only=True)
class AwsWorkerSiteArgs:
    """Which site."""

    environment: Environment
    addresses: AddressPlan
    site_name: str
    user_data: Mapping[str, pulumi.Input[str]] = field(default_factory=dict)
    """cloud-init's input by pool, plain; a pool without one boots the bare image."""


class AwsWorkerSite(ComponentResource):
    """A site and its pools; wants the account's provider among its options."""

    network: AwsSiteNetwork
    identity: AwsNodeIdentity
    pools: Mapping[str, AwsPool]
    """The site's pools by name."""

    def __init__(self, name: str, args: AwsWorkerSiteArgs, opts: ResourceOptions | None = None) -> None:
        super().__init__("longhaul:aws:WorkerSite", name, None, opts)
        environment, site, child = args.environment, args.site_name, ResourceOptions(parent=self)
        own_tags = tags(environment, site)
        self.network = AwsSiteNetwork(
            f"{name}-network",
            AwsSiteNetworkArgs(environment=environment, addresses=args.addresses, site_name=site, tags=own_tags),
            opts=child,
        )
        self.identity = AwsNodeIdentity(
            f"{name}-node", AwsNodeIdentityArgs(environment=environment, site_name=site, tags=own_tags), opts=child
        )
        self.pools = {
            pool: AwsPool(
                f"{environment.name}-{pool}",
                AwsPoolArgs(
                    environment=environment,
                    pool_name=pool,
                    subnet_ids=self.network.node_subnet_ids,
                    security_group_id=self.network.security_group_id,
                    instance_profile_arn=self.identity.instance_profile_arn,
                    tags=own_tags,
                    user_data=args.user_data.get(pool),
                ),
                opts=child,
            )
            for pool, declared in environment.pools.items()
            if declared.site == site
        }
        self.register_outputs({})
