"""A node's place, learned from metadata services that answer as the clouds' do."""

from __future__ import annotations

import json
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from machine import metadata as node_metadata
from machine.metadata import NotYetError, PlaceError
from node import place as node_place

from contract.documents.node import Worker
from contract.documents.node_place import NodePlace
from tests.support.loopback import Answering, Asked

MAC = "02:00:00:00:00:01"
INTERFACE = f"/latest/meta-data/network/interfaces/macs/{MAC}/ipv4-prefix"
INSTANCE = {
    "/latest/meta-data/instance-id": "i-0123456789abcdef0",
    "/latest/meta-data/placement/availability-zone": "us-east-1a",
    "/latest/meta-data/mac": MAC,
    "/latest/meta-data/local-ipv4": "10.65.128.5",
    INTERFACE: "10.65.128.16/28",
}
RESOURCE = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachineScaleSets/a/virtualMachines/3"
PLACE = NodePlace(
    name="i-0123456789abcdef0",
    address=IPv4Address("10.65.128.5"),
    provider_id="aws:///us-east-1a/i-0123456789abcdef0",
    zone="us-east-1a",
    pods=(IPv4Network("10.65.128.16/28"),),
)


class FakeMetadata(Answering):
    """Serves ``documents`` to clients that ask as the real services require."""

    def __init__(self) -> None:
        super().__init__(self._document)
        self.documents: dict[str, str] = {}

    def _document(self, asked: Asked) -> tuple[int, bytes]:
        headers = asked.headers
        if asked.path == "/latest/api/token":
            good = asked.method == "PUT" and headers.get("x-aws-ec2-metadata-token-ttl-seconds", "").isdigit()
            return (200, b"token") if good else (405, b"")
        azure = asked.path.startswith("/metadata/")
        if headers.get("metadata") != "true" if azure else headers.get("x-aws-ec2-metadata-token") != "token":
            return 401, b""
        found = self.documents.get(asked.path)
        return (404, b"") if found is None else (200, found.encode())


@pytest.fixture(name="metadata")
def _metadata() -> Iterator[FakeMetadata]:
    with FakeMetadata() as metadata:
        yield metadata


def azure(addresses: list[str], *, zone: str = "1") -> dict[str, str]:
    entries = [{"privateIpAddress": address, "publicIpAddress": ""} for address in addresses]
    document = {
        "compute": {
            "osProfile": {"computerName": "lab-a-00000B"},
            "resourceId": RESOURCE,
            "location": "westeurope",
            "zone": zone,
        },
        "network": {"interface": [{"ipv4": {"ipAddress": entries}}]},
    }
    return {"/metadata/instance": json.dumps(document)}


def test_an_instance_of_ec2(metadata: FakeMetadata) -> None:
    metadata.documents = dict(INSTANCE)
    assert node_metadata.aws(metadata.url) == PLACE


def test_several_prefixes(metadata: FakeMetadata) -> None:
    metadata.documents = {**INSTANCE, INTERFACE: "10.65.129.0/28\n10.65.128.16/28\n"}
    assert node_metadata.aws(metadata.url).pods == (IPv4Network("10.65.128.16/28"), IPv4Network("10.65.129.0/28"))


@pytest.mark.parametrize("prefix", [None, "", "\n"])
def test_an_instance_whose_prefix_is_not_there_yet(metadata: FakeMetadata, prefix: str | None) -> None:
    metadata.documents = {path: text for path, text in INSTANCE.items() if path != INTERFACE}
    if prefix is not None:
        metadata.documents[INTERFACE] = prefix
    with pytest.raises(NotYetError):
        node_metadata.aws(metadata.url)


def test_nobody_answers() -> None:
    with pytest.raises(NotYetError, match="refused"):
        node_metadata.aws("http://127.0.0.1:1")


def test_a_machine_of_a_scale_set(metadata: FakeMetadata) -> None:
    pods = [f"10.64.128.{last}" for last in (9, 8, 6, 7, 20)]
    metadata.documents = azure([*pods, "10.64.128.5"])
    place = node_metadata.azure(metadata.url, address=IPv4Address("10.64.128.5"))
    assert (place.name, place.zone) == ("lab-a-00000b", "westeurope-1")
    assert place.provider_id == f"azure://{RESOURCE}"
    assert sorted(str(address) for range_ in place.pods for address in range_) == sorted(pods)
    assert all(first.broadcast_address < last.network_address for first, last in pairwise(place.pods))


def test_a_machine_without_a_zone_is_in_its_region(metadata: FakeMetadata) -> None:
    metadata.documents = azure(["10.64.128.5", "10.64.128.6"], zone="")
    assert node_metadata.azure(metadata.url, address=IPv4Address("10.64.128.5")).zone == "westeurope"


@pytest.mark.parametrize("addresses", [[], ["10.64.128.5"], ["10.64.128.6", "10.64.128.7"]])
def test_a_machine_whose_addresses_are_not_all_there_yet(metadata: FakeMetadata, addresses: list[str]) -> None:
    metadata.documents = azure(addresses)
    with pytest.raises(NotYetError, match="pods' are not among them"):
        node_metadata.azure(metadata.url, address=IPv4Address("10.64.128.5"))


def test_an_answer_that_makes_no_sense_may_yet_be_one(metadata: FakeMetadata) -> None:
    metadata.documents = {"/metadata/instance": "{}"}
    with pytest.raises(NotYetError, match="incomplete"):
        node_metadata.azure(metadata.url, address=IPv4Address("10.64.128.5"))


def host_file(folder: Path) -> Path:
    path = folder / "place.json"
    raw = {"name": "lab-node-0", "address": "10.66.32.10", "provider_id": "longhaul://lab/rack/node-0"}
    path.write_text(json.dumps({**raw, "zone": "rack", "pods": "10.66.128.0/28"}))
    return path


def test_a_rack_host_believes_its_file(tmp_path: Path) -> None:
    place = node_metadata.host(host_file(tmp_path), address=IPv4Address("10.66.32.10"))
    assert (place.name, place.zone, place.pods) == ("lab-node-0", "rack", (IPv4Network("10.66.128.0/28"),))


def test_another_host_s_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PlaceError, match=r"lab-node-0 at 10\.66\.32\.10, this machine's address is 10\.66\.32\.11"):
        node_metadata.host(host_file(tmp_path), address=IPv4Address("10.66.32.11"))


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PlaceError, match=r"place\.json"):
        node_metadata.host(tmp_path / "place.json", address=IPv4Address("10.66.32.10"))


def test_a_kind_that_the_image_does_not_know() -> None:
    with pytest.raises(PlaceError, match="'gcp'"):
        node_metadata.find("gcp")


# Files that are made from it.


def worker(**more: Any) -> Worker:
    values: dict[str, Any] = {
        "role": "node",
        "kind": "aws",
        "version": "1.30.3",
        "api": "https://10.64.3.5:6443",
        "labels": {"longhaul.dev/site": "use1", "longhaul.dev/pool": "cpu"},
        "supernet": "10.64.0.0/12",
        "pod_mtu": 1400,
    }
    return Worker(**{**values, **more})


def test_what_node_json_says_to_other_programs_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "node.json"
    path.write_text(json.dumps({**json.loads(worker().to_text()), "newer": 8}))
    assert Worker.read(path) == worker()


def test_the_kubelet_s_environment() -> None:
    found = node_place.documents(worker(), PLACE, resolver=None)
    assert found["/run/longhaul/node.env"].splitlines() == [
        "NODE_NAME=i-0123456789abcdef0",
        "NODE_ADDRESS=10.65.128.5",
        "NODE_LABELS=longhaul.dev/site=use1,longhaul.dev/pool=cpu,topology.kubernetes.io/zone=us-east-1a",
    ]


def test_a_node_says_which_image_it_is_of(tmp_path: Path) -> None:
    manifest = tmp_path / "image.json"
    assert node_place.image_version(manifest) == ""
    manifest.write_text('{"version": "1.4.0", "packages": {}}')
    found = node_place.documents(worker(), PLACE, resolver=None, image=node_place.image_version(manifest))
    assert "NODE_LABELS=" in found["/run/longhaul/node.env"]
    assert found["/run/longhaul/node.env"].endswith(",longhaul.dev/image=1.4.0\n")


@pytest.mark.parametrize("resolver", [None, Path("/run/systemd/resolve/resolv.conf")])
def test_the_kubelet_s_configuration(resolver: Path | None) -> None:
    found = node_place.documents(worker(), PLACE, resolver=resolver)
    configuration = json.loads(found["/etc/longhaul/kubelet.conf.d/10-place.conf"])
    assert configuration["kind"] == "KubeletConfiguration"
    assert configuration["providerID"] == "aws:///us-east-1a/i-0123456789abcdef0"
    assert configuration.get("resolvConf") == (str(resolver) if resolver else None)


def test_every_address_of_the_ranges_is_a_pod_s() -> None:
    link, ports = node_place.network(worker(), PLACE)["plugins"]
    assert (link["type"], link["mtu"], link["ipMasq"], ports["type"]) == ("ptp", 1400, False, "portmap")
    [[range_]] = link["ipam"]["ranges"]
    # By default, host-local would reserve the network's, the gateway's and the broadcast address.
    assert (range_["rangeStart"], range_["rangeEnd"]) == ("10.65.128.16", "10.65.128.31")
    assert range_["gateway"] == "10.65.128.5"
    assert IPv4Address(range_["rangeEnd"]) in IPv4Network(range_["subnet"])
    assert link["ipam"]["dataDir"].startswith("/run/"), "leases that outlive a power cut are addresses lost"


def test_addresses_of_another_environment_are_refused() -> None:
    with pytest.raises(PlaceError, match=r"10\.65\.128\.5, 10\.65\.128\.16/28: not in 10\.0\.0\.0/12"):
        node_place.check(worker(supernet="10.0.0.0/12"), PLACE)
    node_place.check(worker(), PLACE)


def test_it_waits_until_the_place_is_known(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    answers: list[NodePlace | NotYetError] = [
        NotYetError("no prefix"),
        NotYetError("no prefix"),
        NotYetError("x"),
        PLACE,
    ]
    pauses: list[float] = []

    def find(kind: str) -> NodePlace:
        assert kind == "aws"
        answer = answers.pop(0)
        if isinstance(answer, NotYetError):
            raise answer
        return answer

    monkeypatch.setattr(node_place, "find", find)
    monkeypatch.setattr("time.sleep", pauses.append)
    assert node_place.wait(worker()) == PLACE
    assert pauses == [0.1, 0.2, 0.4]
    assert capsys.readouterr().err.splitlines() == ["not yet: no prefix", "not yet: x"]


def test_files_are_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "new" / "file"
    node_place.write(path, "a")
    node_place.write(path, "b")
    assert [(one.name, one.read_text()) for one in path.parent.iterdir()] == [("file", "b")]
