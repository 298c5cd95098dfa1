"""The networks of a site on Azure and one on AWS with their links, also to racks with two gateways, declared with
production's components."""

from functools import partial
from pathlib import Path

from pulumi import ResourceOptions

from clouds.onprem.site import OnpremSite
from components.aws.account import account_provider, aws_site
from components.aws.links import AwsEnd, AwsLinked
from components.aws.network import AwsSiteNetwork, AwsSiteNetworkArgs
from components.azure.links import AzureEnd, AzureLinked
from components.azure.network import SiteNetwork, SiteNetworkArgs
from components.links import Keys, Links, LinksArgs
from components.model import plan
from components.model.loading.load import load
from components.onprem.links import OnpremEnd
from components.tags import site_tags

environment = load(Path(__file__).parent / "environment" / "Pulumi.old.yaml")
addresses = plan(environment)
provider = account_provider(environment)
assert provider
opts = ResourceOptions(providers=[provider])
azure = SiteNetwork(
    "old-weu", SiteNetworkArgs(environment=environment, addresses=addresses, site="weu", control_plane=True)
)
aws = AwsSiteNetwork(
    "old-use1-network",
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
racks = {name: site for name, site in environment.sites.items() if isinstance(site, OnpremSite)}
Links(
    "old-links",
    LinksArgs(
        environment=environment,
        addresses=addresses,
        ends={name: partial(OnpremEnd, site) for name, site in racks.items()}
        | {"use1": partial(AwsEnd, linked_aws), "weu": partial(AzureEnd, linked_azure)},
        tunnel_keys=lambda secret, of_cloud=False: Keys(text="correct_horse_battery_staple"),
    ),
    opts=opts,
)
