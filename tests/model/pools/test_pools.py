"""Pools' fields against each other, the site and the machine type."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from components.model import load
from components.model.loading.load import examine
from tests.model import make
from tests.model.files import only, write

GROUP = make.AZURE_RESERVATION
OTHER_GROUP = GROUP.replace(make.UUID, "00000000-0000-4000-8000-000000000009")
REVERSED = {"begins": "2027-03-02", "ends": "2027-03-01"}
RESERVATION = "cr-0123456789abcdef0"
RESOURCE_GROUP = "arn:aws:resource-groups:us-east-1:123456789012:group/training"
AWS = {"site": "use1", "machine_type": "p5.48xlarge", "max": 4}
AZURE = {"site": "weu", "machine_type": "Standard_NC24ads_A100_v4", "max": 4}
INFINIBAND = {**AZURE, "machine_type": "Standard_ND96isr_H100_v5"}
BLOCK = {"id": RESERVATION, "kind": "capacity-block"}


def pool(base: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Return an environment with one pool."""
    raw = make.full()
    del raw["bare_metal"], raw["machine_types"], raw["teams"], raw["autoscaler"]
    raw["pools"] = {"gpu": {**base, **fields}}
    return raw


@pytest.mark.parametrize(
    ("base", "fields", "key", "wrong"),
    [
        (AWS, {"zones": ["d"]}, "zones.0", "'d' is not a zone of use1"),
        (AWS, {"zones": ["a", "a"]}, "zones.1", "named twice"),
        (AZURE, {"zones": ["9"]}, "zones.0", "'9' is not a zone of weu"),
        (INFINIBAND, {"zones": ["1"]}, "zones", "Azure chooses where its group is"),
        (AWS, {"zones": ["a"], "spot": True, "reservation": {"id": RESERVATION}}, "reservation", "uses no reservation"),
        (AWS, {"zones": ["a"], "reservation": {"id": GROUP}}, "reservation.id", "names no reservation of AWS"),
        (AWS, {"reservation": {"id": RESERVATION}}, "zones", "in the zones a, b, c, but a reservation is in one"),
        (AWS, {"reservation": {"id": RESOURCE_GROUP, "kind": "capacity-block"}}, "reservation.id", "by its own id"),
        (AZURE, {"reservation": {"id": RESERVATION}}, "reservation.id", "names no capacity reservation group"),
        (AZURE, {"reservation": {"id": GROUP, "kind": "capacity-block"}}, "reservation.kind", "no reservation of kind"),
        (AZURE, {"reservation": {"id": OTHER_GROUP}}, "reservation.id", "another subscription"),
        (AZURE, {"reservation": {"id": GROUP} | REVERSED}, "reservation.ends", "is before it begins, on 2027-03-02"),
        (INFINIBAND, {"reservation": {"id": GROUP}}, "reservation", "one placement group"),
        (AWS, {"placement_group": True}, "zones", "in the zones a, b, c, but a placement group is in one"),
        (
            AWS,
            {"zones": ["a"], "placement_group": True, "reservation": BLOCK},
            "placement_group",
            "close together already",
        ),
        (AWS, {"efa": True, "machine_type": "g5.xlarge"}, "efa", "no network card of a g5.xlarge can have"),
        (INFINIBAND, {"placement_group": True}, "placement_group", "exists only on AWS"),
        (AWS, {"machine_type": "m7g.4xlarge"}, "machine_type", "has arm64 processors, and images are baked for amd64"),
        (AWS, {"machine_type": "p6e-gb200.36xlarge"}, "machine_type", "has arm64 processors"),
        (AZURE, {"machine_type": "Standard_D4pds_v6"}, "machine_type", "has arm64 processors"),
        (AZURE, {"machine_type": "Standard_ND128isr_NDR_GB200_v6"}, "machine_type", "has arm64 processors"),
        (AZURE, {"machine_type": "Standard_ND128isr_GB300_v6"}, "machine_type", "has arm64 processors"),
        (AWS, {"system_disk_gib": 8}, "system_disk_gib", "8"),
        (AWS, {"deletion_notice_min": 5}, "deletion_notice_min", "exists only on Azure"),
        (AZURE, {"deletion_notice_min": 5, "spot": True}, "deletion_notice_min", "no notice of deletions"),
        (AZURE, {"deletion_notice_min": 16}, "deletion_notice_min", "16"),
    ],
)
def test_what_cannot_be_bought_is_said(
    tmp_path: Path, base: dict[str, Any], fields: dict[str, Any], key: str, wrong: str
) -> None:
    problem = only(write(tmp_path, pool(base, **fields), hosts=make.hosts()))
    assert problem.key == f"pools.gpu.{key}"
    assert wrong in problem.wrong


@pytest.mark.parametrize(
    ("base", "fields"),
    [
        (AWS, {"zones": ["b"], "reservation": BLOCK}),
        (AWS, {"reservation": {"id": RESOURCE_GROUP}}),
        (AWS, {"zones": ["a"], "placement_group": True, "efa": True, "reservation": {"id": RESERVATION}}),
        (AWS, {"efa": True, "machine_type": "p4d.24xlarge"}),
        (AZURE, {"zones": ["1"], "reservation": {"id": GROUP}, "system_disk_gib": 512}),
    ],
)
def test_what_can_be_bought_is_taken(base: dict[str, Any], fields: dict[str, Any]) -> None:
    found = make.environment(pool(base, **fields)).pools["gpu"].model_dump(mode="json", exclude_defaults=True)
    assert {key: found[key] for key in fields} == fields


def test_a_pool_that_says_nothing_is_bought_as_before() -> None:
    bare = make.environment(pool(AWS)).pools["gpu"]
    assert (bare.zones, bare.reservation, bare.system_disk_gib) == ((), None, None)
    assert (bare.placement_group, bare.efa) == (False, False)


def test_an_autoscaler_that_acts_leaves_a_node(tmp_path: Path) -> None:
    raw = pool(AZURE) | {"autoscaler": {}}
    problem = only(write(tmp_path, raw))
    assert (problem.key, "could end every node" in problem.wrong) == ("pools", True)
    kept = pool(AZURE, min=1) | {"autoscaler": {}}
    looks = raw | {"autoscaler": {"dry_run": True}}
    racks = raw | {"bare_metal": "hosts.test.yaml"}
    for one in (kept, looks, racks):
        load(write(tmp_path, one, hosts=make.hosts()))
    assert "runs CoreDNS" in {one.key: one.wrong for one in examine(write(tmp_path, looks)).warnings}["pools"]


def test_fallbacks_that_loop_are_left_out_of_one_pool(tmp_path: Path) -> None:
    raw = pool(AWS, fallbacks=["other"])
    raw["pools"]["other"] = {**AWS, "fallbacks": ["gpu"]}
    problem = only(write(tmp_path, raw))
    assert (problem.key, problem.write) == ("pools.gpu.fallbacks", "leave it out of one of them")
