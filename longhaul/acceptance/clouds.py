"""What the clouds themselves list of an environment: public addresses, and whatever is left of it.

Fields: docs.aws.amazon.com, EC2 API, ``DescribeAddresses``, ``DescribeNatGateways`` and so on; learn.microsoft.com,
"Public IP Addresses - List". All that is made is tagged (components/tags.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from clouds.aws import session
from clouds.aws.site import AwsSite
from clouds.azure.names import resource_group
from clouds.azure.session import ResourceManager
from clouds.azure.site import AzureSite
from clouds.base.errors import CloudError
from components.model import Environment
from components.model.places import place_of
from longhaul.acceptance.check import NotApplicableError, NotSoError
from longhaul.acceptance.subject import Subject

NETWORK_VERSION = "2024-05-01"
GROUPS_VERSION = "2021-04-01"
GATEWAYS = ("natgateways", "virtualnetworkgateways", "bastionhosts")
"""What may hold a public address on Azure: ways out, tunnels, and the cloud's own way in."""
TAG = "longhaul-environment"
GONE = ("deleted", "terminated", "shutting-down", "deleting")
"""States in which AWS still lists what is gone, or going."""
LISTED = (
    ("describe_instances", "Reservations", "InstanceId"),
    ("describe_addresses", "Addresses", "PublicIp"),
    ("describe_nat_gateways", "NatGateways", "NatGatewayId"),
    ("describe_vpn_connections", "VpnConnections", "VpnConnectionId"),
    ("describe_vpn_gateways", "VpnGateways", "VpnGatewayId"),
    ("describe_customer_gateways", "CustomerGateways", "CustomerGatewayId"),
    ("describe_launch_templates", "LaunchTemplates", "LaunchTemplateId"),
    ("describe_vpcs", "Vpcs", "VpcId"),
)
"""EC2's lists: method, key and id. Nothing else costs anything, or outlives the VPC that it is in."""

Ec2 = Callable[[str], Any]
"""The SDK's EC2 client of a region."""


@dataclass(frozen=True, kw_only=True)
class Clouds:
    """Both, as they are asked."""

    azure: ResourceManager
    ec2: Ec2


def real() -> Clouds:
    """With the operator's own credentials."""
    return Clouds(azure=ResourceManager(), ec2=partial(session.shared().client, "ec2"))


def nothing_public(subject: Subject, clouds: Clouds | None = None) -> str:
    """Every public address is a gateway's, and no instance has one."""
    held = dict(_held(subject.environment, clouds or real()))
    if not held:
        raise NotApplicableError("no cloud lists a public address of the environment")
    if wrong := [f"{address} is held by {holder}" for address, (holder, fine) in held.items() if not fine]:
        raise NotSoError("; ".join(wrong))
    return ", ".join(f"{address}: {holder}" for address, (holder, _) in held.items())


def left(environment: Environment, clouds: Clouds | None = None) -> list[str]:
    """What the clouds still list of an environment."""
    found, asked = list[str](), clouds or real()
    for name, site in environment.sites.items():
        match site:
            case AzureSite():
                found += _azure_left(asked.azure, _group_path(environment, name, site), environment.name)
            case AwsSite():
                found += _aws_left(asked.ec2(site.region), environment.name, site.region)
            case _:
                continue
    return list(dict.fromkeys(found))


def _held(environment: Environment, clouds: Clouds) -> Iterator[tuple[str, tuple[str, bool]]]:
    """Public addresses, who holds each, and whether it may."""
    for name, site in environment.sites.items():
        if isinstance(site, AzureSite):
            yield from _azure_held(clouds.azure, _group_path(environment, name, site), environment.name)
        if isinstance(site, AwsSite):
            yield from _aws_held(clouds.ec2(site.region), environment.name, site.region)


def _azure_held(azure: ResourceManager, group: str, env: str) -> Iterator[tuple[str, tuple[str, bool]]]:
    """Of a group that is somebody else's, the addresses with our tag alone."""
    own = _tagged(azure.find(group, version=GROUPS_VERSION) or {}, env)
    for item in azure.pages(f"{group}/providers/Microsoft.Network/publicIPAddresses", version=NETWORK_VERSION):
        if not own and not _tagged(item, env):
            continue
        properties = item["properties"]
        holder = (properties.get("natGateway") or properties.get("ipConfiguration") or {}).get("id", "")
        parts = holder.split("/")
        # …/providers/Microsoft.Network/<type>/<name>/…
        kind, holding = (parts[7], parts[8]) if len(parts) > 8 else ("nobody", "")
        fine = not holder or kind.lower() in GATEWAYS
        yield str(properties.get("ipAddress") or item["name"]), (f"{kind} {holding}".strip(), fine)


def _aws_held(ec2: Any, env: str, region: str) -> Iterator[tuple[str, tuple[str, bool]]]:
    wanted = [{"Name": f"tag:{TAG}", "Values": [env]}]
    gateways = _ask(region, lambda: ec2.describe_nat_gateways(Filter=wanted))["NatGateways"]
    own = {
        address.get("PublicIp"): gateway["NatGatewayId"]
        for gateway in gateways
        for address in gateway.get("NatGatewayAddresses", [])
    }
    for address in _ask(region, lambda: ec2.describe_addresses(Filters=wanted))["Addresses"]:
        public = str(address["PublicIp"])
        holder = own.get(public) or address.get("InstanceId") or address.get("NetworkInterfaceId") or "nobody"
        yield public, (str(holder), public in own or holder == "nobody")
    for instance in _instances(ec2, wanted, region):
        if own_address := instance.get("PublicIpAddress"):
            yield str(own_address), (str(instance["InstanceId"]), False)


def _azure_left(azure: ResourceManager, group: str, env: str) -> list[str]:
    """The group, or what is ours in a group that is somebody else's."""
    found = azure.find(group, version=GROUPS_VERSION)
    if found is None:
        return []
    if _tagged(found, env):
        return [f"resource group {found['name']}"]
    listed = azure.pages(f"{group}/resources", version=GROUPS_VERSION)
    return [f"{item['type']} {item['name']}" for item in listed if _tagged(item, env)]


def _tagged(item: Mapping[str, Any], env: str) -> bool:
    return bool((item.get("tags") or {}).get(TAG) == env)


def _group_path(environment: Environment, name: str, site: AzureSite) -> str:
    return f"/subscriptions/{site.subscription}/resourceGroups/{resource_group(place_of(environment, name))}"


def _aws_left(ec2: Any, env: str, region: str) -> list[str]:
    wanted = [{"Name": f"tag:{TAG}", "Values": [env]}]
    found = []
    for method, key, id_ in LISTED:
        items: Sequence[Mapping[str, Any]] = (
            list(_instances(ec2, wanted, region))
            if method == "describe_instances"
            else _ask(region, partial(_listed, ec2, method, wanted))[key]
        )
        found += [f"{item[id_]} in {region}" for item in items if _state(item) not in GONE]
    return found


def _listed(ec2: Any, method: str, wanted: Sequence[Mapping[str, Any]]) -> Any:
    """One list; NAT gateways' alone takes its filters under another name."""
    word = "Filter" if method == "describe_nat_gateways" else "Filters"
    return getattr(ec2, method)(**{word: wanted})


def _instances(ec2: Any, wanted: Sequence[Mapping[str, Any]], region: str) -> list[Mapping[str, Any]]:
    answer = _ask(region, lambda: ec2.describe_instances(Filters=wanted))
    return [instance for one in answer["Reservations"] for instance in one["Instances"]]


def _state(item: Mapping[str, Any]) -> str:
    state = item.get("State", "")
    return str(state.get("Name", "") if isinstance(state, Mapping) else state)


def _ask(region: str, ask: Callable[[], Any]) -> Any:
    try:
        with session.asked(f"AWS {region}"):
            return ask()
    except session.AwsError as error:
        raise CloudError(str(error), passing=False) from None
