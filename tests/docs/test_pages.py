"""Pages about tasks are correct: tables are the model's, commands exist, and messages are ones that the code has."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from clouds.azure.vpn_gateway import FLOWS
from clouds.azure.vpn_gateway import SIZES as GATEWAY_SIZES
from clouds.base.throughput import text as throughput
from clouds.registry import clouds as clouds_by_name
from components.model.control_plane.size import SIZES, least_memory_gib, least_servers
from components.model.network.capacity import peered_room
from components.model.nodes.kubelet_reservations import MAX_PODS
from contract.documents.node_place import POD_PREFIX
from longhaul import cli
from longhaul.init import ranges
from longhaul.init.answers import CloudSite

PAGES = ("adding", "hosts", "images", "lab-gpus", "many-regions", "rack-routing", "sizing", "troubleshooting")


def page(root: Path, name: str) -> str:
    return (root / "docs" / f"{name}.md").read_text(encoding="utf-8")


def rows(text: str, mark: str) -> list[list[int]]:
    table = text.partition(f"<!-- sizing:{mark} -->")[2].lstrip("\n").partition("\n\n")[0]
    lines = [re.findall(r"[\d,]+", line) for line in table.splitlines() if re.match(r"\| \d", line)]
    return [[int(number.replace(",", "")) for number in line] for line in lines]


def test_the_sizes_are_the_models(root: Path) -> None:
    text = page(root, "sizing")
    clouds, racks = rows(text, "clouds"), rows(text, "racks")
    assert [line[0] for line in clouds] == [line[0] for line in racks] == list(range(13, 21))
    aws = [CloudSite(cloud="aws", region="r", zones=tuple("abcd"[:number])) for number in (1, 2, 3, 4)]
    azure = CloudSite(cloud="azure", region="r", zones=("1", "2", "3"))
    for prefix, *nodes in clouds:
        assert nodes == [ranges.pool_room(site, prefix) for site in (*aws, azure)]
    assert f"{peered_room(clouds_by_name()['azure'], 2):,} nodes in two sites" in text
    for prefix, hosts in racks:
        assert hosts == ranges.host_room(prefix)
    assert (POD_PREFIX, MAX_PODS) == (28, 16)


def test_what_follows_the_size_is_the_models(root: Path) -> None:
    text = page(root, "sizing")
    table = text.partition("<!-- sizing:control -->")[2].lstrip("\n").partition("\n\n")[0].splitlines()[2:]
    assert table == [
        f"| {f'{size.nodes:,}' if size.nodes else 'more'} | {size.requests:,} | {size.mutating:,} "
        f"| {size.event_minutes} min | {size.event_burst:,} |"
        for size in SIZES
    ]
    for nodes, memory, servers in rows(text, "memory"):
        assert (memory, servers) == (least_memory_gib(nodes), least_servers(nodes))


def test_the_gateways_sizes_are_those_of_the_table(root: Path) -> None:
    table = (
        page(root, "network").partition("<!-- gateway-sizes -->")[2].lstrip("\n").partition("\n\n")[0].splitlines()[2:]
    )
    assert table == [
        f"| `{size.name}` | {size.generation[-1]} | {throughput(size.total_mbit)} | {throughput(size.tunnel_mbit)} "
        f"| {size.tunnel_packets:,} | {size.connections} | {size.machines:,} |"
        for size in GATEWAY_SIZES.values()
    ]
    assert f"{FLOWS:,} flows" in page(root, "network")


def manifests(text: str) -> list[dict[str, Any]]:
    """Return the Kubernetes objects that a page shows in full."""
    blocks = re.findall(r"(?:^    .*\n)+", text, re.MULTILINE)
    return [yaml.safe_load(block) for block in blocks if block.startswith("    apiVersion:")]


def unknown(value: Any, schema: dict[str, Any]) -> list[str]:
    """Return the keys that a schema describes no property for, which an API server would drop."""
    if isinstance(value, list):
        return [key for one in value for key in unknown(one, schema.get("items", {}))]
    if not isinstance(value, dict) or "properties" not in schema:
        return []
    known = schema["properties"]
    below = [key for name, one in value.items() if name in known for key in unknown(one, known[name])]
    return [*below, *(name for name in value if name not in known)]


def test_a_job_set_that_a_page_shows_is_as_the_definition_has_it(root: Path) -> None:
    objects = json.loads((root / "components/objects/queue_objects/jobset.json").read_text(encoding="utf-8"))
    (definition,) = objects["definitions"]
    (version,) = definition["spec"]["versions"]
    job, job_set = manifests(page(root, "teams"))
    assert job["kind"] == "Job"
    assert job_set["apiVersion"] == f"{definition['spec']['group']}/{version['name']}"
    schema = version["schema"]["openAPIV3Schema"]
    jsonschema.validate(job_set, schema)
    assert unknown(job_set["spec"], schema["properties"]["spec"]) == []
    roles = {one["name"]: one["template"]["spec"] for one in job_set["spec"]["replicatedJobs"]}
    assert {name: (one["parallelism"], one["completions"]) for name, one in roles.items()} == {
        "leader": (1, 1),
        "worker": (4, 4),
    }


@pytest.mark.parametrize("name", PAGES)
def test_every_command_of_a_page_is_one(root: Path, name: str) -> None:
    text = re.sub(r"\\\n", " ", page(root, name))
    lines = [line.strip() for line in text.splitlines() if line.startswith("    ")]
    for part in (part.strip() for line in lines for part in line.split(" #")[0].split("&&")):
        if part.startswith("longhaul "):
            words = shlex.split(part)[1:]
            assert cli.parse(words).command == words[0]


def test_every_page_says_first_what_it_is_for(root: Path) -> None:
    """A sentence comes before any command, table or heading."""
    for path in sorted((root / "docs").rglob("*.md")):
        title, *rest = path.read_text(encoding="utf-8").splitlines()
        first = next(line for line in rest if line.strip() and not line.startswith("<!--"))
        assert title.startswith("# "), path
        assert not first.startswith(("    ", "#", "|", "-", "1.", "!")), path


def test_every_message_is_one_of_the_code(root: Path) -> None:
    """Words in code marks in a table's first column are in a source, perhaps in two lines of it."""
    code = "".join(
        re.sub(r'"\n\s*f?"', "", path.read_text(encoding="utf-8"))
        for folder in ("longhaul", "components", "contract", "lab", "clouds")
        for path in sorted((root / folder).rglob("*.py"))
    )
    cells = re.findall(r"^\| (`.*?) \|", page(root, "troubleshooting"), re.MULTILINE)
    assert len(cells) > 25
    missing = [part for cell in cells for part in re.findall(r"`([^`]+)`", cell) if part not in code]
    assert missing == []
