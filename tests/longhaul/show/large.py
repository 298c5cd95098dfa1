"""The largest environment to show: 6 sites, 30 pools, 7,500 hosts."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

from tests.model import make
from tests.model.files import write
from tests.support.hosts import hosts_file

SITES = 6
POOLS = 30
HOSTS = 7500

_TYPES = ("m7i.4xlarge", "p5.48xlarge", "p4d.24xlarge", "g5.12xlarge", "g5.xlarge")
_AZURE_TYPES = ("Standard_ND96isr_H100_v5", "Standard_ND96amsr_A100_v4", "Standard_D16s_v5")
_REGIONS = ("us-east-1", "us-west-2", "eu-west-1", "ap-northeast-1")


def raw() -> dict[str, Any]:
    """Return one Azure site with three pools, four AWS sites with six, seven, seven and seven, and one site of
    racks."""
    environment = make.minimal()
    environment |= {"name": "large", "supernet": "10.0.0.0/9", "domain": "large.longhaul.internal"}
    environment["sites"] |= {f"aws-{region}": {**make.AWS, "region": region, "prefix": 15} for region in _REGIONS}
    environment["sites"]["colo"] = {**make.ONPREM, "prefix": 13}
    environment["pools"] = {
        **{f"azure-{index}": _pool("weu", kind, index) for index, kind in enumerate(_AZURE_TYPES)},
        **{
            f"pool-{index:02}": _pool(f"aws-{_REGIONS[index % len(_REGIONS)]}", _TYPES[index % len(_TYPES)], index)
            for index in range(POOLS - len(_AZURE_TYPES))
        },
    }
    environment["links"] = [{"between": ["weu", "colo"], "kind": "existing"}]
    environment["bare_metal"] = "hosts.large.yaml"
    return copy.deepcopy(environment)


def _pool(site: str, machine_type: str, index: int) -> dict[str, Any]:
    return {"site": site, "machine_type": machine_type, "max": 150 + index, "spot": index % 3 == 0}


def write_large(directory: Path) -> Path:
    """Write its stack file and hosts file into ``directory``; return the stack file."""
    path = write(directory, raw(), name="large")
    (directory / "hosts.large.yaml").write_text(hosts_file(HOSTS), encoding="utf-8")
    return path
