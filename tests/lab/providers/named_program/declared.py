"""The networks of two sites and their links, declared with production's components, on existing parts that the
environment names. The scenario that made these parts writes the environment file."""

from functools import partial
from pathlib import Path

from pulumi import ResourceOptions

from clouds.base.tags import site_tags
from components.aws.account import account_provider, aws_site
from components.aws.links import AwsEnd, AwsLinked
from components.aws.network import AwsSiteNetwork, AwsSiteNetworkArgs
from components.azure.links import AzureEnd, AzureLinked
from components.azure.network import SiteNetwork, SiteNetworkArgs
from components.environment.links import Links, LinksArgs, VaultTunnelKeys
from components.model import plan
from components.model.loading.load import load

environment = load(Path(__file__).parent / "environment" / "Pulumi.named.yaml")
addresses = plan(environment)
provider = account_provider(environment)
assert provider
opts = ResourceOptions(providers=[provider])


def no_keys(secret: str, *, of_cloud: bool = False) -> VaultTunnelKeys:
    if not of_cloud:
        raise NotImplementedError(f"{secret}: AWS makes the keys of every link here")
    return VaultTunnelKeys(text="")


azure = SiteNetwork(
    "named-weu",
    SiteNetworkArgs(environment=environment, addresses=addresses, site="weu", control_plane=True),
)
aws = AwsSiteNetwork(
    "named-use1-network",
    AwsSiteNetworkArgs(
        environment=environment, addresses=addresses, site_name="use1", tags=site_tags(environment, "use1")
    ),
    opts=opts,
)
linked_aws = AwsLinked(
    region=aws_site(environment, "use1").region, vpc_id=aws.vpc_id, route_table_ids=aws.route_table_ids
)
linked_azure = AzureLinked(
    region="westeurope",
    zones=["1", "2", "3"],
    resource_group=azure.resource_group,
    network_id=azure.network_id,
    network_name=azure.network_name,
    network_group=azure.network_group,
    after=[azure],
)
Links(
    "named-links",
    LinksArgs(
        environment=environment,
        addresses=addresses,
        ends={"use1": partial(AwsEnd, linked_aws), "weu": partial(AzureEnd, linked_azure)},
        tunnel_keys=no_keys,
    ),
    opts=opts,
)
