"""Environments for tests: raw mappings as a stack file holds them, and the environments that the model makes of
them."""

from __future__ import annotations

import copy
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any

from components.model import Environment, parse
from components.model.depots.section import EXAMPLE_AUTHORITY

STACK = "test"
SOURCE = Path("Pulumi.test.yaml")

UUID = "00000000-0000-4000-8000-000000000001"
IMAGE = (
    f"/subscriptions/{UUID}/resourceGroups/images/providers/Microsoft.Compute"
    "/galleries/longhaul/images/node/versions/1.0.0"
)
AZURE_RESERVATION = f"/subscriptions/{UUID}/resourceGroups/g/providers/Microsoft.Compute/capacityReservationGroups/h100"
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFhk/LkKNQC31ru54ymVcoIM67FZShjozqAZ026fyRip"
DEPOTS_KEY = "mDMEZZIAgBYJKwYBBAHaRw8BAQdAanbVxeNsK4742hHLMBphyfviDmF05ZXVdpGlDIfcSJc="

AUTHORITY = """\
-----BEGIN CERTIFICATE-----
MIIBNDCB56ADAgECAhRoLHGJsTUsNeyve+i6/u0fu09NSDAFBgMrZXAwDzENMAsG
A1UEAwwEY29ycDAgFw0yNjExMjQxNjE5MzVaGA8yMTI2MTAzMTE2MTkzNVowDzEN
MAsGA1UEAwwEY29ycDAqMAUGAytlcAMhACL1b+SOXVE1SfuyeplsFvNW8mb2DLyF
WfK7v3owC/+po1MwUTAdBgNVHQ4EFgQUY0lQCug08lQ50De5Cd2NayuQBqowHwYD
VR0jBBgwFoAUY0lQCug08lQ50De5Cd2NayuQBqowDwYDVR0TAQH/BAUwAwEB/zAF
BgMrZXADQQBWnwNiYumt2Bl1JPdAwfuIuSU/hrdnR+CiIbVMBvbUzgvVpj+6ZH40
cOpkvP0nPGn3Ib+ONAjLd+LbpGgINq8B
-----END CERTIFICATE-----
"""
"""Certificate of an authority, whose key nobody has."""

AZURE = {"kind": "azure", "region": "westeurope", "subscription": UUID, "tenant": UUID, "image": IMAGE}
AWS = {"kind": "aws", "region": "us-east-1", "image": "ami-00000000000000001"}
ONPREM = {"kind": "onprem", "gateways": [{"name": "gw-0", "public_address": "203.0.113.10"}]}


def minimal() -> dict[str, Any]:
    """Return the smallest mapping that makes an environment."""
    return copy.deepcopy(
        {
            "format": 1,
            "name": STACK,
            "supernet": "10.64.0.0/12",
            "domain": "test.longhaul.internal",
            "sites": {"weu": AZURE},
            "control_plane": {
                "site": "weu",
                "etcd": {"members": 3, "machine_type": "Standard_L8s_v3"},
                "events": {"members": 1, "machine_type": "Standard_L8s_v3"},
                "api": {"servers": 2, "machine_type": "Standard_D8s_v5"},
            },
            "access": {"administrator_key": KEY, "vault_officers": {UUID: "service"}},
        }
    )


def full() -> dict[str, Any]:
    """Return an environment with every key that can be written."""
    raw = minimal()
    raw["destroyable"] = True
    raw["used"] = ["192.168.0.0/16"]
    raw["access"]["administrators"] = {UUID: "user"}
    raw["versions"] = {"kubernetes": "1.2.3", "etcd": "4.5.6"}
    raw["sites"] = {
        "weu": {
            **AZURE,
            "range": "10.64.0.0/16",
            "prefix": 16,
            "depot": "https://depot.example.internal",
            "private_zones": ["example.net"],
            "zones": ["1", "2"],
            "vpn_gateway_size": "VpnGw2AZ",
            "existing": azure_existing(),
            "encrypted": False,
        },
        "use1": {
            **AWS,
            "range": "10.65.0.0/16",
            "prefix": 16,
            "depot": "https://depot.example.internal",
            "private_zones": ["example.net"],
            "zones": ["a", "b", "c"],
            "account": "123456789012",
            "existing": aws_existing(),
        },
        "colo": {
            "kind": "onprem",
            "range": "10.68.0.0/14",
            "prefix": 14,
            "depot": "https://depot.example.internal",
            "private_zones": ["corp.example.com"],
            "gateways": [
                {"name": "gw-0", "public_address": "203.0.113.10", "capacity": "2 Gbit/s", "host_key": KEY},
                {"name": "gw-1", "public_address": "203.0.113.11", "host_key": KEY},
            ],
        },
    }
    for part in ("etcd", "events"):
        raw["control_plane"][part]["quota_gib"] = 4
    raw["control_plane"]["etcd"]["learner"] = {"zone": "2", "machine_type": "Standard_D8s_v5", "disk_gib": 32}
    raw["control_plane"]["api"]["port"] = 443
    raw["control_plane"]["sync_limits"] = {"median_ms": 0.5, "p99_ms": 5}
    raw["control_plane"]["round_trip_ms"] = 1.5
    taint = {"key": "nvidia.com/gpu", "value": "yes", "effect": "NoSchedule"}
    pool = {
        "min": 1,
        "max": 4,
        "spare": 1,
        "labels": {"gpu": "h100"},
        "taints": [taint],
        "startup_taints": [{**taint, "key": "agent.example.com/starting"}],
        "spot": True,
        "priority": 5,
    }
    raw["pools"] = {
        "gpu": {"site": "use1", "machine_type": "p5.48xlarge", **pool, "fallbacks": ["big"], "huge_pages_gib": 64}
        | {"zones": ["a"], "placement_group": True, "efa": True}
        | {"gpu_check": ["/usr/local/bin/burn", "60"]},
        "big": {"site": "weu", "machine_type": "Huge", "max": 1, "zones": ["1"], "system_disk_gib": 256}
        | {"deletion_notice_min": 10}
        | {"reservation": {"id": AZURE_RESERVATION, "kind": "on-demand", "begins": "2027-03-01", "ends": "2027-03-28"}},
    }
    raw["backups"] = {
        "recipients": ["age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"],
        "every_minutes": 10,
        "frequent_days": 2,
        "hourly_days": 14,
        "daily_days": 365,
    }
    raw["vpn"] = {"machine_type": "Standard_D2s_v5", "name": "vpn.example.com", "sources": ["198.51.100.0/24"]}
    raw["depots"] = {"key": DEPOTS_KEY, "authority": EXAMPLE_AUTHORITY}
    raw["max_nodes"] = 5000
    raw["autoscaler"] = {
        "dry_run": True,
        "idle_minutes": 20,
        "join_minutes": 25,
        "leaving_percent": 5,
        "joining": 100,
    }
    next(iter(raw["pools"].values())).update(idle_minutes=30, join_minutes=35)
    raw["pod_security"] = {"exempt_namespaces": ["monitoring", "0-storage"]}
    raw["queues"] = True
    raw["extended_resources"] = ["smarter-devices/fuse"]
    raw["bare_metal"] = "hosts.test.yaml"
    raw["links"] = [{"between": ["weu", "colo"], "kind": "existing", "bandwidth": "3 Gbit/s", "capacity": "10 Gbit/s"}]
    huge = {"cloud": "azure", "vcpus": 8, "memory_gib": 64, "local_ssd_gb": 100}
    raw["machine_types"] = {
        "Huge": {**huge, "gpus": 1, "gpu_model": "A100 80GB", "gpu_nvlinks": 0, "efa_cards": 0, "efa_first_card": 0}
    }
    raw["access"]["operators"] = ["198.51.100.0/24"]
    raw["access"]["operators_inside"] = ["192.168.7.0/24"]
    raw["access"]["aws_permissions_boundary"] = "arn:aws:iam::123456789012:policy/full-boundary"
    raw["access"]["aws_identity_provider"] = f"arn:aws:iam::123456789012:oidc-provider/sts.windows.net/{UUID}/"
    raw["identity"] = {
        "issuers": {"corp": {**issuer(), "client_id": "cli", "scopes": ["openid"], "token_hours": 8}},
        "groups": {"corp:ml": {"everywhere": "view", "namespaces": {"research": "edit"}, "vpn": True}},
    }
    raw["identity"]["issuers"]["corp"] |= {"certificate_authority": AUTHORITY, "required_claims": {"tid": "t"}}
    raw["teams"] = {
        "visual": {
            "groups": ["corp:visual"],
            "shares": {"h100-spot": {"gpus": 2, "cores": 8, "borrow": 1, "lend": 1}},
            "priority": 5,
        }
    }
    raw["images"] = {"efa_device_plugin": f"registry.example.com/efa:v1@sha256:{'0' * 64}"}
    raw["tags"] = {"team": "training"}
    raw["naming"] = {"prefix": "corp"}
    waiver = {"rule": "vault-recoverable", "resource": "test-control-plane-vault", "until": "2027-03-31"}
    raw["waivers"] = [waiver | {"why": "made anew every week", "approved_by": "security@example.com"}]
    return copy.deepcopy(raw)


def azure_existing() -> dict[str, Any]:
    """Return everything that a site can have in Azure already."""
    network = f"/subscriptions/{UUID}/resourceGroups/corp-network/providers/Microsoft.Network"
    return {
        "resource_group": "rg-training",
        "network": f"{network}/virtualNetworks/vnet-training",
        "subnets": {
            "gateway": "GatewaySubnet",
            "etcd": "snet-etcd",
            "events": "snet-events",
            "api": "snet-api",
            "vpn": "snet-vpn",
            "nodes": "snet-nodes",
        },
        "dns_zone": f"{network}/privateDnsZones/test.longhaul.internal",
        "dns_zone_linked": True,
        "vpn_gateway": {
            "id": f"{network}/virtualNetworkGateways/vgw-hub",
            "addresses": ["198.51.100.10", "198.51.100.11"],
        },
    }


def aws_existing() -> dict[str, Any]:
    """Return everything that a site can have in AWS already, except the subnets of one or two zones."""
    return {
        "vpc": "vpc-0123456789abcdef0",
        "internet_gateway": "igw-0123456789abcdef0",
        "node_subnets": {
            "a": {"subnet": "subnet-0123456789abcdef0", "route_table": "rtb-0123456789abcdef0"},
            "b": {"subnet": "subnet-0123456789abcdef1", "route_table": "rtb-0123456789abcdef0"},
        },
        "vpn_gateway": "vgw-0123456789abcdef0",
    }


def issuer(name: str = "corp", **more: Any) -> dict[str, Any]:
    """Return an issuer of people's tokens; ``name`` is also its prefix."""
    names = {
        part: {"claim": claim, "prefix": f"{name}:"} for part, claim in (("username", "sub"), ("groups", "groups"))
    }
    return {"url": f"https://{name}.example.com", "audiences": ["longhaul"], **names, **more}


def hosts() -> dict[str, Any]:
    """Return a hosts file with every key that can be written."""
    return {
        "hosts": [
            {"name": "rack-0", "site": "colo", "address": "10.68.128.200", "host_key": KEY, "gpus": 8}
            | {"huge_pages_gib": 64, "gpu_model": "H100", "gpu_nvlinks": 18, "gpu_check": ["/usr/local/bin/burn"]}
            | {"gpu_driver": "provided", "gpu_switches": "present", "rdma": "infiniband"}
            | {"quarantined": True},
            {"name": "rack-1", "site": "colo"},
        ]
    }


def rack(*listed: dict[str, Any]) -> dict[str, Any]:
    """Return a hosts file."""
    return {"hosts": list(listed)}


def host(name: str, **more: Any) -> dict[str, Any]:
    """Return an entry of a hosts file."""
    return {"name": name, "site": "colo", **more}


def environment(raw: dict[str, Any] | None = None, **changes: Any) -> Environment:
    """Return the environment that ``raw`` (by default the minimal one) declares, with ``changes`` on top."""
    return parse({**(minimal() if raw is None else raw), **changes}, source=SOURCE, stack=STACK)


def with_sites(supernet: IPv4Network, sizes: list[int], *, ranges: dict[int, IPv4Network] | None = None) -> Environment:
    """Return an environment whose sites ``s0``, ``s1``, … have these prefix lengths or ranges. It is not checked, so
    that a plan can be asked for what it refuses."""
    sites = {
        f"s{index}": {**AZURE, "prefix": size} | ({"range": str(ranges[index])} if ranges and index in ranges else {})
        for index, size in enumerate(sizes)
    }
    raw = minimal()
    raw["control_plane"]["site"] = "s0"
    return Environment.model_validate({**raw, "supernet": str(supernet), "sites": sites})
