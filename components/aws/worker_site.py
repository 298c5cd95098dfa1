"""One whole site on AWS: its network, its nodes' identity, its pools."""

from __future__ import annotations

from dataclasses import dataclass

from pulumi import ComponentResource, ResourceOptions

from clouds.base.checks import zones_of
from clouds.base.tags import site_tags
from components.aws.network import AwsSiteNetwork, AwsSiteNetworkArgs
from components.aws.pools import AwsNodeIdentity, AwsNodeIdentityArgs, AwsPool, AwsPoolArgs
from components.environment.cloud_resources import UserDataMaker
from components.model import AddressPlan, Environment
from components.model.sites.cloud_names import pool_resource
from components.model.sites.places import place_of


@dataclass(frozen=True, kw_only=True)
class AwsWorkerSiteArgs:
    """Arguments of a site."""

    environment: Environment
    addresses: AddressPlan
    site_name: str


class AwsWorkerSite(ComponentResource):
    """A site and its pools. Its options must contain the account's provider."""

    network: AwsSiteNetwork
    identity: AwsNodeIdentity

    def __init__(self, name: str, args: AwsWorkerSiteArgs, opts: ResourceOptions | None = None) -> None:
        super().__init__("longhaul:aws:WorkerSite", name, None, opts)
        environment, site, child = args.environment, args.site_name, ResourceOptions(parent=self)
        own_tags = site_tags(environment, site)
        self.network = AwsSiteNetwork(
            f"{name}-network",
            AwsSiteNetworkArgs(environment=environment, addresses=args.addresses, site_name=site, tags=own_tags),
            opts=child,
        )
        self.identity = AwsNodeIdentity(
            f"{name}-node", AwsNodeIdentityArgs(environment=environment, site_name=site, tags=own_tags), opts=child
        )
        self._child, self._tags, self._args = child, own_tags, args
        self.register_outputs({})

    def make_pools(self, user_data: UserDataMaker) -> None:
        """Make the site's pools."""
        environment = self._args.environment
        place = place_of(environment, self._args.site_name)
        subnets = dict(zip(place.site.zones, self.network.node_subnet_ids, strict=True))
        for pool, declared in environment.pools.items():
            if declared.site == self._args.site_name:
                AwsPool(
                    pool_resource(environment, pool),
                    AwsPoolArgs(
                        environment=environment,
                        pool_name=pool,
                        subnet_ids=[subnets[zone] for zone in zones_of(place, declared)],
                        security_group_id=self.network.security_group_id,
                        instance_profile_arn=self.identity.instance_profile_arn,
                        tags=self._tags,
                        user_data=user_data(pool),
                    ),
                    opts=self._child,
                )
