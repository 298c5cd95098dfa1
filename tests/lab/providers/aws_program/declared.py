"""AWS's part of an environment, declared with production's components: two sites, their peering, a VPN to a remote
gateway, and the node controller's role."""

from pathlib import Path

import pulumi
from pulumi import ResourceOptions

from clouds.base.tags import site_tags
from components.aws.account import account_provider
from components.aws.node_controller_access import NodeControllerAccess, NodeControllerAccessArgs
from components.aws.peering import AwsPeering, AwsPeeringArgs, AwsPeeringSide
from components.aws.vpn import AwsRoutes, AwsRoutesArgs, AwsVpnGateway, AwsVpnGatewayArgs, AwsVpnPeer, AwsVpnPeerArgs
from components.aws.worker_site import AwsWorkerSite, AwsWorkerSiteArgs
from components.environment.links import VaultTunnelKeys, used_key
from components.model import plan
from components.model.loading.load import load

config = pulumi.Config()
environment = load(Path(__file__).parent / "environment" / "Pulumi.aws.yaml")
addresses = plan(environment)
provider = account_provider(environment)
assert provider
opts = ResourceOptions(providers=[provider])
sites = {
    name: AwsWorkerSite(
        f"aws-{name}",
        AwsWorkerSiteArgs(environment=environment, addresses=addresses, site_name=name),
        opts=opts,
    )
    for name in ("use1", "euw1")
}
for site in sites.values():
    site.make_pools(lambda _pool, group=None: pulumi.Output.secret(config.get("data") or "#cloud-config\n"))


def side(name: str) -> AwsPeeringSide:
    network = sites[name].network
    return AwsPeeringSide(
        site_name=name,
        region=environment.sites[name].region,
        block=addresses.sites[name].block,
        vpc_id=network.vpc_id,
        route_table_ids=network.route_table_ids,
    )


AwsPeering("aws-peering", AwsPeeringArgs(first=side("use1"), second=side("euw1"), tags=environment.tags), opts=opts)
own, home = site_tags(environment, "use1"), sites["use1"].network
gateway = AwsVpnGateway("aws-vpn", AwsVpnGatewayArgs(region="us-east-1", vpc_id=home.vpc_id, tags=own), opts=opts)
peer = AwsVpnPeer(
    "aws-peer",
    AwsVpnPeerArgs(
        region="us-east-1",
        gateway_id=gateway.gateway_id,
        remote_address="198.51.100.20",
        local=addresses.sites["use1"].block,
        remote=addresses.sites["weu"].block,
        keys=(VaultTunnelKeys(text=""), VaultTunnelKeys(text="")),
        tags=own,
    ),
    opts=opts,
)
AwsRoutes(
    "aws-peer-routes",
    AwsRoutesArgs(
        region="us-east-1",
        route_table_ids=home.route_table_ids,
        destination=addresses.sites["weu"].block,
        gateway_id=gateway.gateway_id,
    ),
    opts=opts,
)
access = NodeControllerAccess(
    "aws-node-controller",
    NodeControllerAccessArgs(
        environment=environment, principal_ids={"api-0": "00000000-0000-4000-8000-000000000009"}, tags={}
    ),
    opts=opts,
)
pulumi.export("addresses", [tunnel.address for tunnel in peer.tunnels])
pulumi.export("keys", [used_key(tunnel.keys) for tunnel in peer.tunnels])
pulumi.export("egress", [*home.egress_addresses])
pulumi.export("role", access.role_arn)
