"""Environments of every size, for tests of the map."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from components.model import Environment, load, parse
from components.model.hosts.section import Host
from tests.model import make

EXAMPLES = Path(__file__).parents[4] / "examples"

TYPES = {
    "azure": ("Standard_ND96isr_H100_v5", "Standard_ND96amsr_A100_v4", "Standard_NC24ads_A100_v4", "Standard_D32s_v5"),
    "aws": ("p5.48xlarge", "p4d.24xlarge", "g5.12xlarge", "m7i.4xlarge"),
}
POOLS = {"weu": 7, "neu": 5, "use1": 8, "usw2": 6, "euw1": 4}
"""Pools by site: thirty, unevenly distributed."""


def one() -> Environment:
    """Return a control plane and nothing else."""
    return make.environment()


def five() -> Environment:
    """Return production as it is in the tree."""
    return load(EXAMPLES / "Pulumi.prod.yaml")


def six() -> Environment:
    """Return six sites, thirty pools, racks with several types of GPUs, and an existing circuit."""
    raw = make.minimal()
    raw["supernet"] = "10.0.0.0/9"
    raw["sites"] = {
        "weu": make.AZURE,
        "neu": {**make.AZURE, "region": "northeurope"},
        "use1": {**make.AWS, "zones": ["a", "b", "c", "d"]},
        "usw2": {**make.AWS, "region": "us-west-2", "zones": ["a", "b", "c"]},
        "euw1": {**make.AWS, "region": "eu-west-1"},
        "colo": {
            "kind": "onprem",
            "prefix": 14,
            "gateways": [
                {"name": "gw-0", "public_address": "203.0.113.10"},
                {"name": "gw-1", "public_address": "203.0.113.11"},
            ],
        },
    }
    raw["pools"] = {
        f"{site}-{TYPES[kind][index % 4].split('_')[-1].split('.')[0].lower()}-{index}": {
            "site": site,
            "machine_type": TYPES[kind][index % 4],
            "min": index % 3,
            "max": 40 * (index + 1),
            "spot": index % 4 == 2,
        }
        for site, count in POOLS.items()
        for kind in (raw["sites"][site]["kind"],)
        for index in range(count)
    }
    raw["links"] = [{"between": ["colo", "weu"], "kind": "existing"}]
    return with_hosts(make.environment(raw))


def named_at_length() -> Environment:
    """Return six sites with names of twenty characters, which their links' labels show."""
    raw = make.minimal()
    kinds = [make.AZURE, make.AZURE, make.AWS, make.AWS, make.AWS, make.ONPREM]
    raw["sites"] = {f"a-site-of-this-name{index}": kind for index, kind in enumerate(kinds)}
    raw["control_plane"]["site"] = "a-site-of-this-name0"
    return make.environment(raw)


def with_hosts(environment: Environment) -> Environment:
    """Return the environment with hosts of two types with GPUs, and some hosts without."""
    makes: list[dict[str, Any]] = [{"gpus": 8, "gpu_model": "H100"}] * 600 + [{"gpus": 8}] * 400 + [{}] * 24
    hosts = (Host(name=f"r{index:04}", site="colo", **more) for index, more in enumerate(makes))
    return environment.model_copy(update={"hosts": tuple(hosts)})


def longest() -> Environment:
    """Return an environment in which every name has its maximum length, and free texts have characters that are
    special in XML."""
    raw = make.full() | {"name": "test"}
    raw.pop("bare_metal")
    rename = {name: f"{name}-{'w' * (19 - len(name))}" for name in raw["sites"]}
    raw["sites"] = {rename[name]: site for name, site in raw["sites"].items()}
    raw["control_plane"]["site"] = rename["weu"]
    raw["links"] = [{"between": [rename["weu"], rename["colo"]], "kind": "existing"}]
    raw["domain"] = "a-domain-name-that-nobody-would-want-to-type.example.longhaul.internal"
    zone = raw["sites"][rename["weu"]]["existing"]
    zone["dns_zone"] = zone["dns_zone"].replace("test.longhaul.internal", raw["domain"])
    odd = "<b>\x07 & ]]>\"' and wide as well, a name of a machine"
    raw["machine_types"] = {odd: {**raw["machine_types"]["Huge"], "gpu_model": "W" * 64}}
    raw["pools"] = {
        "w" * 20: {**raw["pools"]["gpu"], "site": rename["use1"], "fallbacks": [], "max": 480},
        "m" * 20: {"site": rename["weu"], "machine_type": odd, "max": 1900, "spot": True},
    }
    return parse(raw, source=make.SOURCE, stack="test")


def hosts_only_beside(count: int) -> Environment:
    """Return a control plane and ``count`` racks, all linked by IPsec; more racks than any real environment has."""
    raw = make.minimal()
    raw["supernet"] = "10.0.0.0/8"
    for index in range(count):
        gateway = {"name": f"g{index}", "public_address": f"203.0.113.{index + 1}"}
        raw["sites"][f"rack{index}"] = {"kind": "onprem", "gateways": [gateway]}
    return make.environment(raw)


def three() -> Environment:
    """Return an environment with every key that a stack file can have. It has fixed versions, since it is for the
    golden file."""
    raw = make.full()
    raw.pop("bare_metal")
    return make.environment(raw)
