"""One site on AWS, whole: its network, what its nodes are to AWS, its pools."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pulumi
from pulumi import ComponentResource, ResourceOptions

from components.aws.account import tags
from components.aws.network import AwsSiteNetwork, AwsSiteNetworkArgs
from components.aws.pools import AwsNodeIdentity, AwsNodeIdentityArgs, AwsPool, AwsPoolArgs
from components.model import AddressPlan, Environment
from components.model.groups import pool_resource


@dataclass(frozen=True, kw_only=True)
class AwsWorkerSiteArgs:
    """Which site."""

    environment: Environment
    addresses: AddressPlan
    site_name: str
    user_data: Callable[[str], pulumi.Input[str]]
    """cloud-init's input, plain, by the name of the pool."""


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
                pool_resource(environment, pool),
                AwsPoolArgs(
                    environment=environment,
                    pool_name=pool,
                    subnet_ids=self.network.node_subnet_ids,
                    security_group_id=self.network.security_group_id,
                    instance_profile_arn=self.identity.instance_profile_arn,
                    tags=own_tags,
                    user_data=args.user_data(pool),
                ),
                opts=child,
            )
            for pool, declared in environment.pools.items()
            if declared.site == site
        }
        self.register_outputs({})
