"""Internal load balancer: the one address of all API servers."""

from __future__ import annotations

from dataclasses import dataclass

import pulumi
from pulumi import ComponentResource, Output, ResourceOptions
from pulumi_azure_native import network, privatedns

from clouds.azure.zones import address_zones
from clouds.base.tags import site_tags
from components.azure.account import azure_site
from components.model import AddressPlan, Environment
from components.model.control_plane.health import READY_PATH
from components.model.network.address_plan import FRONTEND
from components.model.sites.cloud_names import cloud_name
from contract.ports import JOIN_HEALTH_PATH, JOIN_PORT

FRONT, BACK, PROBE, JOIN = "api", "api-servers", "ready", "join"


@dataclass(frozen=True, kw_only=True)
class ApiLoadBalancerArgs:
    """Arguments of the load balancer."""

    environment: Environment
    addresses: AddressPlan
    resource_group: pulumi.Input[str]
    subnet_id: pulumi.Input[str]
    zone_name: pulumi.Input[str]
    """Name of the private DNS zone that gets a record for the frontend."""
    zone_group: pulumi.Input[str]
    """Resource group of the zone."""


class ApiLoadBalancer(ComponentResource):
    """Standard internal load balancer; a server that is not ready gets no new connection."""

    backend_pool_id: Output[str]
    """Id of the pool that the API servers' interfaces join."""

    def __init__(self, name: str, args: ApiLoadBalancerArgs, opts: ResourceOptions | None = None) -> None:
        super().__init__("longhaul:azure:ApiLoadBalancer", name, None, opts)
        environment, child = args.environment, ResourceOptions(parent=self)
        name_of_site = environment.control_plane.site
        site = azure_site(environment, name_of_site)
        frontend = str(args.addresses.sites[name_of_site].subnet("api")[FRONTEND])
        own_name = cloud_name(environment, name)
        own_id = _own_id(site.subscription, args.resource_group, own_name)
        services = (
            # Watches are long and may be silent; 30 minutes is the longest idle time that Azure allows.
            _Service(
                name=FRONT, probe=PROBE, port=environment.control_plane.api.port, path=READY_PATH, idle_minutes=30
            ),
            _Service(name=JOIN, probe=JOIN, port=JOIN_PORT, path=JOIN_HEALTH_PATH, idle_minutes=4),
        )
        balancer = network.LoadBalancer(
            name,
            load_balancer_name=own_name,
            resource_group_name=args.resource_group,
            location=site.region,
            sku=network.LoadBalancerSkuArgs(name="Standard"),
            frontend_ip_configurations=[
                network.FrontendIPConfigurationArgs(
                    name=FRONT,
                    private_ip_address=frontend,
                    private_ip_allocation_method="Static",
                    # Without zones, the address would depend on one zone that Azure chooses.
                    zones=address_zones(site.region, site.zones),
                    subnet=network.SubnetArgs(id=args.subnet_id),
                )
            ],
            backend_address_pools=[network.BackendAddressPoolArgs(name=BACK)],
            probes=[_probe(service) for service in services],
            load_balancing_rules=[_rule(service, own_id) for service in services],
            tags=site_tags(environment, name_of_site),
            opts=ResourceOptions.merge(child, ResourceOptions(ignore_changes=["frontendIPConfigurations[0].zones"])),
        )
        privatedns.PrivateRecordSet(
            f"{name}-name",
            private_zone_name=args.zone_name,
            resource_group_name=args.zone_group,
            record_type="A",
            relative_record_set_name="api",
            ttl=60,
            a_records=[privatedns.ARecordArgs(ipv4_address=frontend)],
            opts=child,
        )
        self.backend_pool_id = balancer.id.apply(lambda id_: f"{id_}/backendAddressPools/{BACK}")
        self.register_outputs({"backend_pool_id": self.backend_pool_id})


@dataclass(frozen=True, kw_only=True)
class _Service:
    """One port of the load balancer, forwarded to the same port of the machines."""

    name: str
    probe: str
    port: int
    path: str
    """Path that a machine answers with 200 while it serves."""
    idle_minutes: int


def _probe(service: _Service) -> network.ProbeArgs:
    """Return an HTTPS probe. A TCP probe would accept a server that hangs or is about to leave. docs/first-real-up.md
    says what Azure requires of the certificate."""
    return network.ProbeArgs(
        name=service.probe,
        protocol="Https",
        port=service.port,
        request_path=service.path,
        interval_in_seconds=5,
        probe_threshold=2,
    )


def _rule(service: _Service, own_id: Output[str]) -> network.LoadBalancingRuleArgs:
    def part(path: str) -> network.SubResourceArgs:
        return network.SubResourceArgs(id=own_id.apply(lambda id_: f"{id_}/{path}"))

    return network.LoadBalancingRuleArgs(
        name=service.name,
        protocol="Tcp",
        frontend_port=service.port,
        backend_port=service.port,
        idle_timeout_in_minutes=service.idle_minutes,
        enable_tcp_reset=True,
        frontend_ip_configuration=part(f"frontendIPConfigurations/{FRONT}"),
        backend_address_pool=part(f"backendAddressPools/{BACK}"),
        probe=part(f"probes/{service.probe}"),
    )


def _own_id(subscription: str, resource_group: pulumi.Input[str], name: str) -> Output[str]:
    """Return the load balancer's full id before it exists: its rules refer to its own parts by full ids."""
    root = f"/subscriptions/{subscription}/resourceGroups"
    return Output.from_input(resource_group).apply(
        lambda group: f"{root}/{group}/providers/Microsoft.Network/loadBalancers/{name}"
    )
