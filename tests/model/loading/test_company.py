"""A company's own file: values that passed and could not work are refused or warned of, with what to write."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from components.model import ConfigurationError, load
from components.model.loading.load import examine
from components.model.secrets.authority_pem import admits
from contract.reasons.plan import FileReason
from tests.model import make
from tests.model.files import only, write
from tests.model.loading.test_impossible import BLOCK, changed

P5 = {"site": "use1", "machine_type": "p5.48xlarge", "max": 4, "zones": ["a"]}
RESERVED = {"reservation": {"id": "cr-0123456789abcdef0"}}
L4 = {"cloud": "aws", "vcpus": 48, "memory_gib": 192, "gpus": 4, "gpu_model": "L4", "local_ssd_gb": 3760}
WEST = {"kind": "aws", "region": "us-west-2", "image": "ami-0123456789abcdef0"}
TWO_REGIONS = {"weu": make.AZURE, "use1": WEST | {"region": "us-east-1"}, "usw2": WEST}
TENANT, SUBSCRIPTION = (f"{digit}{make.UUID[1:]}" for digit in (1, 2))
SOUTH = make.AZURE | {"subscription": SUBSCRIPTION, "tenant": TENANT}
SOUTH["image"] = make.IMAGE.replace(make.UUID, SUBSCRIPTION)
TWO_TENANTS = {"weu": SOUTH, "use1": make.AWS, "neu": SOUTH | {"region": "northeurope", "tenant": make.UUID}}
RANGE = make.AWS | {"range": "10.66.0.0/16", "prefix": 17}
KEY = make.full()["backups"]["recipients"][0]


def pools(**second: Any) -> dict[str, Any]:
    """Return a file with a second pool whose reservation the first has."""
    raw = changed("pools.gpu", P5 | RESERVED)
    raw["pools"]["more"] = P5 | RESERVED | second
    return raw


@pytest.mark.parametrize(
    ("raw", "key", "wrong", "instead"),
    [
        (changed("sites.use1.region", "westeurope"), "sites.use1.region", "is not AWS's name", "us-east-1"),
        (changed("sites.use1.region", "us-east-1a"), "sites.use1.region", "is not AWS's name", "us-east-1"),
        (changed("sites.weu.region", "West Europe"), "sites.weu.region", "is not Azure's name", "westeurope"),
        (changed("pools.GPU", P5), "pools.GPU", "cannot be a key here", "gpu"),
        (changed("machine_types.L4", L4 | {"memory_gib": 196608}), "machine_types.L4.memory_gib", "48 cores", "192,"),
        (changed("machine_types.L4", L4 | {"local_ssd_gb": 4}), "machine_types.L4.local_ssd_gb", "less", "4000,"),
        (changed("machine_types.L4", L4 | {"local_ssd_gb": 3760000}), "machine_types.L4.local_ssd_gb", "more", "3760,"),
        (changed("sites.use1", RANGE), "sites.use1.prefix", "a /17 is not the size", "leave one of the two out"),
        (changed("sites", TWO_REGIONS), "sites.usw2.image", "is the image of use1 too", "--site usw2"),
        (changed("sites", TWO_TENANTS), "sites.neu.tenant", "is the subscription of weu too", TENANT),
        (pools(zones=["b"]), "pools.more.reservation.id", "of gpu too, whose zones is a", "for these machines"),
        (
            pools(machine_type="p4d.24xlarge"),
            "pools.more.reservation.id",
            "is p5.48xlarge",
            "for these machines",
        ),
        (changed("backups", {"recipients": [KEY[:-1] + "q"]}), "backups.recipients.0", "checksum", "age-keygen -y"),
        (changed("extended_resources", ["nvidia.com/mig-1g.10gb"]), "extended_resources.0", "whole ones", "leave it"),
        (changed("extended_resources", ["a.io/b"] * 2), "extended_resources.1", "is named before", "leave it"),
        (changed("sites.use1.depot", "https://10.65.128.9"), "sites.use1.depot", "the range of pods of use1", "node"),
        (changed("sites.use1.depot", "https://10.79.0.10"), "sites.use1.depot", "the range of Services", "node"),
        (changed("sites.use1.depot", "https://127.0.0.1"), "sites.use1.depot", "no server that other", "own address"),
        (changed("sites.use1.depot", "https://localhost"), "sites.use1.depot", "each machine itself", "server"),
    ],
)
def test_what_cannot_work_is_refused(tmp_path: Path, raw: dict[str, Any], key: str, wrong: str, instead: str) -> None:
    problem = only(write(tmp_path, raw))
    assert problem.key == key
    assert wrong in problem.wrong
    assert instead in problem.write


@pytest.mark.parametrize(
    ("host", "right"),
    [
        ("depot.longhaul.internal", True),
        ("a.depot.longhaul.internal", True),
        ("127.0.0.1", True),
        ("notdepot.longhaul.internal", False),
        ("10.0.0.5", False),
    ],
)
def test_a_depot_has_a_name_for_which_its_authority_signs(root: Path, tmp_path: Path, host: str, right: bool) -> None:
    """The lab's authority may sign for one name, and for addresses of the machine itself."""
    authority = load(root / "stacks" / "Pulumi.lab.yaml").depots.authority or ""
    assert admits(authority, host) == right
    raw = changed("depots", {"key": make.DEPOTS_KEY, "authority": authority})
    raw["sites"]["use1"]["depot"] = f"https://{host}"
    if not right:
        assert f"may not sign for {host}" in only(write(tmp_path, raw)).wrong


def test_many_hosts_like_a_pool_are_one_problem_that_names_it(tmp_path: Path) -> None:
    raw = make.full()
    pool = next(iter(raw["pools"]))
    hosts = make.rack(*(make.host(f"{pool}-{number}") for number in range(24)))
    with pytest.raises(ConfigurationError) as caught:
        load(write(tmp_path, raw, hosts=hosts))
    assert f"begins like the machines of the pool {pool}" in str(caught.value)
    assert "the same in 23 more places" in str(caught.value)


DOUBTFUL: dict[FileReason, tuple[dict[str, Any], str, str]] = {
    FileReason.BLOCK_GUARANTEED: (
        changed("pools.gpu", P5 | {"reservation": BLOCK})
        | {"teams": {"visual": {"groups": ["corp:v"], "shares": {"h100": {"gpus": 8}}}}},
        "teams.visual.shares.h100.gpus",
        "no guarantee",
    ),
    FileReason.IMAGE_NEEDS_CREDENTIALS: (
        changed("pools.gpu", P5 | {"efa": True})
        | {"images": {"efa_device_plugin": f"602401143452.dkr.ecr.us-east-1.amazonaws.com/a/b:v1@sha256:{'0' * 64}"}},
        "images.efa_device_plugin",
        "without credentials",
    ),
    FileReason.ALL_TAINTED: (
        changed("pools.gpu.taints", [{"key": "example.com/dedicated", "effect": "NoSchedule"}]),
        "pools",
        "a pool without taints",
    ),
    FileReason.GROUP_ALMOST_KNOWN: (
        changed("identity.groups", {"corp:visual": {"everywhere": "view"}})
        | {"teams": {"visual": {"groups": ["corp:visal"], "shares": {"h100": {}}}}},
        "teams.visual.groups.0",
        "corp:visual, if",
    ),
    FileReason.EXEMPT_DEFAULT: (
        changed("pod_security", {"exempt_namespaces": ["monitoring", "default"]}),
        "pod_security.exempt_namespaces.1",
        "a namespace of its own",
    ),
    FileReason.SWITCHES_HIDDEN: (make.full(), "hosts.0.gpu_switches", "present"),
}


@pytest.mark.parametrize("reason", DOUBTFUL)
def test_what_will_not_do_what_it_says_is_a_warning(tmp_path: Path, reason: FileReason) -> None:
    raw, key, instead = DOUBTFUL[reason]
    hosts = make.rack(make.host("a", gpus=8, gpu_model="B200")) if "bare_metal" in raw else None
    warnings = {warning.key: warning for warning in examine(write(tmp_path, raw, hosts=hosts)).warnings}
    assert instead in warnings[key].write
