"""The plugins as processes, and the azure plugin's tables compared with the installed SDK."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf import empty_pb2
from pulumi.runtime.proto import provider_pb2

from lab.cloud.azure.resource_types import known_types
from lab.providers.shapes import to_body, to_outputs
from lab.providers.tokens import known_tokens
from lab.providers.values import UNKNOWN, from_struct, to_struct
from tests.lab.providers.plugins import running

URN = "urn:pulumi:t::p::parent$azure-native:{}::x"
NETWORK = URN.format("network:VirtualNetwork")


@pytest.fixture(scope="module", params=["azure-native", "aws"])
def plugin(
    request: pytest.FixtureRequest, root: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, Any]]:
    """A plugin started through a link in another folder, as from PATH, without any credentials."""
    link = tmp_path_factory.mktemp("bin") / f"pulumi-resource-{request.param}"
    link.symlink_to(root / "lab" / "providers" / "bin" / link.name)
    with running(link, {"PATH": "/usr/bin:/bin"}) as stub:
        yield request.param, stub


def test_a_preview_needs_no_cloud(plugin: tuple[str, Any]) -> None:
    name, stub = plugin
    urn = NETWORK if name == "azure-native" else "urn:pulumi:t::p::aws:ec2/vpc:Vpc::x"
    version = stub.GetPluginInfo(empty_pb2.Empty()).version
    assert re.fullmatch(r"\d+\.\d+\.\d+", version)
    inputs = to_struct({"virtualNetworkName": "net", "resourceGroupName": UNKNOWN, "cidrBlock": "10.0.0.0/16"})
    checked = stub.Check(provider_pb2.CheckRequest(urn=urn, news=inputs))
    assert list(checked.failures) == []
    made = stub.Create(provider_pb2.CreateRequest(urn=urn, properties=checked.inputs, preview=True))
    assert from_struct(made.properties)["cidrBlock"] == "10.0.0.0/16"
    assert made.id == ""


def test_what_cannot_be_made_is_refused_by_name(plugin: tuple[str, Any]) -> None:
    name, stub = plugin
    urn = URN.format("cache:Redis") if name == "azure-native" else "urn:pulumi:t::p::aws:s3/bucket:Bucket::x"
    with pytest.raises(grpc.RpcError) as refused:
        stub.Create(provider_pb2.CreateRequest(urn=urn, properties=to_struct({})))
    assert refused.value.code() is grpc.StatusCode.UNIMPLEMENTED
    assert urn.split("::")[2].split("$")[-1] in refused.value.details()


def test_names_are_made_once(plugin: tuple[str, Any]) -> None:
    name, stub = plugin
    if name != "azure-native":
        return
    news = to_struct({"resourceGroupName": "g"})
    first = from_struct(stub.Check(provider_pb2.CheckRequest(urn=NETWORK, news=news, randomSeed=b"1")).inputs)
    assert re.fullmatch(r"x[0-9a-f]{8}", first["virtualNetworkName"])
    again = from_struct(
        stub.Check(provider_pb2.CheckRequest(urn=NETWORK, news=news, olds=to_struct(first), randomSeed=b"2")).inputs
    )
    assert again["virtualNetworkName"] == first["virtualNetworkName"]
    missing = stub.Check(provider_pb2.CheckRequest(urn=NETWORK, news=to_struct({}), randomSeed=b"1"))
    assert [failure.property for failure in missing.failures] == ["resourceGroupName"]


@pytest.mark.parametrize(
    ("changes", "replaced", "delete_first"),
    [
        ({"tags": {"a": "b"}}, [], False),
        ({"virtualNetworkName": "other"}, ["virtualNetworkName"], True),
        ({"virtualNetworkName": "other", "__createBeforeDelete": True}, ["virtualNetworkName"], False),
        ({"location": "northeurope"}, ["location"], True),
        ({"location": "West Europe"}, None, False),
    ],
)
def test_diffs(
    plugin: tuple[str, Any], changes: dict[str, Any], replaced: list[str] | None, delete_first: bool
) -> None:
    name, stub = plugin
    if name != "azure-native":
        return
    old = {"virtualNetworkName": "net", "resourceGroupName": "g", "location": "westeurope"}
    if "__createBeforeDelete" in changes:
        old["__createBeforeDelete"] = True
    new = to_struct({**old, **changes})
    answer = stub.Diff(
        provider_pb2.DiffRequest(id="i", urn=NETWORK, old_inputs=to_struct(old), olds=to_struct({}), news=new)
    )
    changed = provider_pb2.DiffResponse.DIFF_NONE if replaced is None else provider_pb2.DiffResponse.DIFF_SOME
    assert answer.changes == changed
    assert list(answer.replaces) == (replaced or [])
    assert answer.deleteBeforeReplace is delete_first


def test_a_plugin_ends_with_the_engine_that_started_it(root: Path) -> None:
    launcher = root / "lab" / "providers" / "bin" / "pulumi-resource-azure-native"
    script = f'"{launcher}" & read -r _; kill -9 $$'
    parent = subprocess.Popen(["sh", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert parent.stdin
    assert parent.stdout
    int(parent.stdout.readline())
    parent.stdin.write("end\n")
    parent.stdin.close()
    assert parent.wait(timeout=120) == -9
    # The output ends when the last process that holds it, the plugin, has ended.
    assert parent.stdout.read() == ""
    parent.stdout.close()


@pytest.mark.parametrize("token", known_tokens().values(), ids=lambda token: token.token)
def test_tokens_are_those_of_the_installed_sdk(token: Any) -> None:
    spec = find_spec("pulumi_azure_native")
    assert spec
    assert spec.submodule_search_locations
    module = token.token.split(":")[1]
    folder = Path(spec.submodule_search_locations[0]) / module
    (source,) = [text for path in folder.glob("*.py") if f"'{token.token}'," in (text := path.read_text())]
    known = set(re.findall(r'@pulumi\.getter\(name="(\w+)"\)', source)) | set(re.findall(r"def (\w+)\(self", source))
    assert set(token.parameters) <= known
    assert f"Azure REST API version {token.api_version}" in source
    assert token.type.lower() in known_types()


@pytest.mark.parametrize("token", known_tokens().values(), ids=lambda token: token.token)
def test_ids_and_their_parts_agree(token: Any) -> None:
    inputs = {name: "A" if name == "recordType" else f"{name}-1" for name in token.parameters}
    if "scope" in inputs:
        inputs["scope"] = "/subscriptions/s/resourceGroups/g"
    made = token.id(inputs, subscription="s")
    assert made.startswith("/subscriptions/s/")
    assert token.names(made) == {
        **inputs,
        **({"scope": "subscriptions/s/resourceGroups/g"} if "scope" in inputs else {}),
    }
    assert token.names("/subscriptions/s/providers/Other/things/x") == {}


def test_nested_elements_have_properties_of_their_own() -> None:
    token = known_tokens()["azure-native:network:LoadBalancer"]
    inputs = {
        "loadBalancerName": "lb",
        "resourceGroupName": "g",
        "location": "westeurope",
        "sku": {"name": "Standard"},
        "probes": [{"name": "p", "port": 80}],
        "loadBalancingRules": [{"name": "r", "probe": {"id": "x"}, "backendAddressPools": [{"id": "y"}]}],
    }
    body = to_body(token, inputs)
    assert body == {
        "location": "westeurope",
        "sku": {"name": "Standard"},
        "properties": {
            "probes": [{"name": "p", "properties": {"port": 80}}],
            "loadBalancingRules": [
                {"name": "r", "properties": {"probe": {"id": "x"}, "backendAddressPools": [{"id": "y"}]}}
            ],
        },
    }
    outputs = to_outputs(token, body)
    assert outputs["probes"] == inputs["probes"]
    assert outputs["loadBalancingRules"] == inputs["loadBalancingRules"]


def test_identities_are_a_list_in_the_sdk() -> None:
    token = known_tokens()["azure-native:compute:VirtualMachine"]
    identity = {"type": "UserAssigned", "userAssignedIdentities": ["/a", "/b"]}
    body = to_body(token, {"vmName": "m", "resourceGroupName": "g", "identity": identity})
    assert body["identity"] == {"type": "UserAssigned", "userAssignedIdentities": {"/a": {}, "/b": {}}}


@pytest.mark.parametrize(
    ("name", "function", "given"),
    [
        (
            "azure-native",
            "azure-native:network:getVirtualNetwork",
            {"resourceGroupName": "g", "virtualNetworkName": "n"},
        ),
        ("aws", "aws:ec2/getVpc:getVpc", {"id": "vpc-01234567"}),
    ],
)
def test_a_preview_without_a_cloud_is_told_nothing(
    plugin: tuple[str, Any], name: str, function: str, given: dict[str, Any]
) -> None:
    running, stub = plugin
    if running != name:
        return
    answer = stub.Invoke(provider_pb2.InvokeRequest(tok=function, args=to_struct(given), preview=True))
    assert from_struct(getattr(answer, "return")) == {}
    for more in ({**given, "other": "x"}, {}):
        with pytest.raises(grpc.RpcError, match="the lab looks"):
            stub.Invoke(provider_pb2.InvokeRequest(tok=function, args=to_struct(more), preview=True))
