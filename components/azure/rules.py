"""Security rules of a site's parts on Azure: who may reach what stands in them, and what that may reach."""

from __future__ import annotations

from pulumi_azure_native.network import SecurityRuleArgs

from clouds.aws.site import AwsSite
from clouds.azure.site import AzureSite
from components.model import AddressPlan, Environment, SitePlan
from components.model.joining import JOIN_PORT, joining_ranges


def part_rules(environment: Environment, addresses: AddressPlan, site: str, part: str) -> list[SecurityRuleArgs]:
    """The rules of one part of a site: ``etcd``, ``events``, ``api`` or ``nodes``."""
    region = str(getattr(environment.sites[site], "region", ""))
    if part == "nodes":
        return _node_rules(addresses)
    if part == "api":
        return _api_rules(environment, addresses, region)
    return _store_rules(addresses.sites[site], part, region)


def _rule(
    name: str,
    priority: int,
    *,
    direction: str = "Inbound",
    access: str = "Allow",
    protocol: str = "Tcp",
    sources: list[str],
    destination: str = "*",
    ports: list[str],
) -> SecurityRuleArgs:
    single = sources[0] if len(sources) == 1 else None
    return SecurityRuleArgs(
        name=name,
        priority=priority,
        direction=direction,
        access=access,
        protocol=protocol,
        source_address_prefix=single,
        source_address_prefixes=None if single else sources,
        source_port_range="*",
        destination_address_prefix=destination,
        destination_port_ranges=ports,
    )


def _deny_rest(*, direction: str = "Inbound") -> SecurityRuleArgs:
    """Above Azure's own rules, which admit the whole virtual network, its peers and its VPN, and everything out."""
    name = "deny-rest" if direction == "Inbound" else "deny-rest-out"
    return _rule(name, 4096, direction=direction, access="Deny", protocol="*", sources=["*"], ports=["0-65535"])


def _store_rules(plan: SitePlan, part: str, region: str) -> list[SecurityRuleArgs]:
    """Members talk to each other, API servers to members. Out they reach their peers, the vault, and where the cloud's
    agent returns the results of run commands: Azure's own addresses in the region (learn.microsoft.com, "Run scripts
    in your Linux VM by using action Run Commands")."""
    own = str(plan.subnet(part))
    return [
        _rule("peers", 100, sources=[own], ports=["2379-2380"]),
        _rule("api-servers", 110, sources=[str(plan.subnet("api"))], ports=["2379"]),
        _deny_rest(),
        _outbound("peers-out", 100, destination=own, ports=["2379-2380"]),
        _outbound("vault", 110, destination="AzureKeyVault"),
        _outbound("agent", 120, destination=f"AzureCloud.{region}"),
        _deny_rest(direction="Outbound"),
    ]


def _api_rules(environment: Environment, addresses: AddressPlan, region: str) -> list[SecurityRuleArgs]:
    """In, the API is for the environment's own addresses: nodes, pods and operators of every site, also those that come
    over the VPN; the join service is for the ranges that pools' machines are in. Out, API servers reach every address
    of the environment: stores, kubelets, and pods, of which any may be a webhook on any port. Besides them the vault,
    the cloud's agent as in :func:`_store_rules`, and for the node controller and the join service the APIs of the
    clouds that have machines (AWS has no addresses of its own that a rule could name) and Azure's directory, which
    tells what machines' tokens are signed with."""
    port, supernet = str(environment.control_plane.api.port), str(addresses.supernet)
    sites = environment.sites
    out = [
        _outbound("environment-out", 100, destination=supernet, ports=["0-65535"], protocol="*"),
        _outbound("vault", 110, destination="AzureKeyVault"),
        _outbound("agent", 120, destination=f"AzureCloud.{region}"),
    ]
    if any(isinstance(sites[pool.site], AzureSite) for pool in environment.pools.values()):
        out.append(_outbound("azure-api", 130, destination="AzureResourceManager"))
        out.append(_outbound("azure-directory", 135, destination="AzureActiveDirectory"))
    if any(isinstance(site, AwsSite) for site in sites.values()):
        out.append(_outbound("aws-api", 140, destination="Internet"))
    joining = [str(range_) for range_ in joining_ranges(environment, addresses)]
    return [
        _rule("api", 100, sources=[supernet], ports=[port]),
        *([_rule("join", 105, sources=joining, ports=[str(JOIN_PORT)])] if joining else []),
        _rule("probes", 110, sources=["AzureLoadBalancer"], ports=[port, str(JOIN_PORT)]),
        _deny_rest(),
        *out,
        _deny_rest(direction="Outbound"),
    ]


def _outbound(
    name: str, priority: int, *, destination: str, ports: list[str] | None = None, protocol: str = "Tcp"
) -> SecurityRuleArgs:
    """Let out; HTTPS alone unless said otherwise."""
    return _rule(
        name,
        priority,
        direction="Outbound",
        protocol=protocol,
        sources=["*"],
        destination=destination,
        ports=ports or ["443"],
    )


def _node_rules(addresses: AddressPlan) -> list[SecurityRuleArgs]:
    """Nodes and pods are one flat network inside the environment."""
    return [
        _rule("environment", 100, protocol="*", sources=[str(addresses.supernet)], ports=["0-65535"]),
        _deny_rest(),
    ]
