"""Parts of the kubernetes stand-in, without a cluster; tests/components/objects tests it with one."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf import empty_pb2
from pulumi.runtime.proto import provider_pb2

from components.control_plane import issuing
from lab.providers.kubernetes_await import timeout_of
from lab.providers.kubernetes_config import ConfigError, load_access
from lab.providers.kubernetes_diff import changes, forced_paths
from lab.providers.kubernetes_objects import (
    checkpoint,
    checkpointed,
    from_properties,
    normalized,
    object_id,
    pruned,
    with_unshown,
)
from lab.providers.kubernetes_settings import read_settings, replacing
from lab.providers.values import UNKNOWN, from_struct, is_secret, secret, to_struct
from tests.lab.providers.plugins import running

URN = "urn:pulumi:t::p::parent$kubernetes:{}::x"
MAP = URN.format("core/v1:ConfigMap")


def kubeconfig(**user: str) -> dict[str, Any]:
    cluster = {"server": "https://cluster.example:6443", "tls-server-name": "api.internal"}
    return {
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u", "namespace": "n"}}],
        "clusters": [{"name": "k", "cluster": cluster}],
        "users": [{"name": "u", "user": user}],
    }


def test_a_kubeconfig_is_a_path_a_text_or_the_ambient_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "config"
    path.write_text(json.dumps(kubeconfig(token="t")))
    monkeypatch.setenv("KUBECONFIG", f"/nowhere/at/all:{path}")
    for given in (str(path), path.read_text(), ""):
        access = load_access(given)
        assert (access.host, access.port, access.server_name) == ("cluster.example", 6443, "api.internal")
        assert (access.namespace, access.headers["Authorization"]) == ("n", "Bearer t")


def test_client_certificates_lie_beside_the_kubeconfig_or_in_it(tmp_path: Path) -> None:
    authority = issuing.new_authority(common_name="t", days=1, key=issuing.new_key())
    pair = issuing.issue(issuing.Subject(common_name="me", usages=["client"], days=1), authority=authority)
    (tmp_path / "me.crt").write_text(pair.certificate)
    (tmp_path / "me.key").write_text(pair.key)
    path = tmp_path / "config"
    path.write_text(json.dumps(kubeconfig(**{"client-certificate": "me.crt", "client-key": "me.key"})))
    load_access(str(path))
    (tmp_path / "me.key").write_text("not a key")
    inside = {
        name: base64.b64encode(text.encode()).decode()
        for name, text in (("client-certificate-data", pair.certificate), ("client-key-data", pair.key))
    }
    load_access(json.dumps(kubeconfig(**inside)))
    with pytest.raises(ConfigError, match="a certificate in the kubeconfig cannot be used"):
        load_access(str(path))


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({}, "names no current-context"),
        ({"current-context": "x"}, "no entry 'x' among its contexts"),
        (kubeconfig(**{"client-certificate-data": "%"}), "client-certificate-data in the kubeconfig is not base64"),
        (kubeconfig(exec="aws"), "signs in by 'exec', which the lab's kubernetes plugin does not know"),
        ({**kubeconfig(), "clusters": [{"name": "k", "cluster": {"server": "http://x"}}]}, "is 'http://x', not https"),
    ],
)
def test_what_is_wrong_with_a_kubeconfig_is_said(config: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(said)):
        load_access(json.dumps(config))


def test_without_any_kubeconfig_the_variable_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", "/nowhere")
    with pytest.raises(ConfigError, match=r"KUBECONFIG is '/nowhere' and leads to no file"):
        load_access("")


def test_settings_are_the_engines_then_the_environments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PULUMI_K8S_ENABLE_PATCH_FORCE", "true")
    found = read_settings({"kubernetes:config:upsertExistingObjects": "true", "kubernetes:config:kubeconfig": ""})
    assert found.upsert
    assert found.patch_force
    assert found.server_side_apply
    assert not found.mutable_maps
    with pytest.raises(ValueError, match="does not know the provider's renderYamlToDirectory"):
        read_settings({"kubernetes:config:renderYamlToDirectory": "x"})


def test_another_cluster_is_another_identifier_or_without_one_another_kubeconfig() -> None:
    assert replacing({"kubeconfig": "a"}, {"kubeconfig": "b"}) == ["kubeconfig"]
    named = {"clusterIdentifier": "lab"}
    assert replacing({**named, "kubeconfig": "a"}, {**named, "kubeconfig": "b"}) == []
    assert replacing(named, {"clusterIdentifier": "other"}) == ["clusterIdentifier"]


def config_map(**data: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "namespace": "n"}, "data": data}


def of(api_version: str, kind: str, **more: Any) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "x"}, **more}


@pytest.mark.parametrize(
    ("old", "new", "paths", "replaced"),
    [
        (config_map(a="1"), config_map(a="1"), {}, []),
        (config_map(a="1"), config_map(a="2", b="3"), {"data.a": "update", "data.b": "add"}, ["data.a", "data.b"]),
        (config_map(**{"a.b": "1"}), config_map(), {'data["a.b"]': "delete"}, ['data["a.b"]']),
        (config_map(a="1"), config_map(a=UNKNOWN), {"data.a": "update"}, ["data.a"]),
        (
            of("apps/v1", "Deployment", spec={"replicas": 1, "selector": {"matchLabels": {"a": "b"}}}),
            of("apps/v1", "Deployment", spec={"replicas": 2, "selector": {"matchLabels": {"a": "c"}}}),
            {"spec.replicas": "update", "spec.selector.matchLabels.a": "update"},
            ["spec.selector.matchLabels.a"],
        ),
        (
            of("v1", "Service", spec={"clusterIP": "10.0.0.1", "ports": [{"port": 1}]}),
            of("v1", "Service", spec={"clusterIP": "10.0.0.2", "ports": [{"port": 1}, {"port": 2}]}),
            {"spec.clusterIP": "update", "spec.ports[1]": "add"},
            ["spec.clusterIP"],
        ),
        (
            of("v1", "Pod", spec={"containers": [{"name": "a", "image": "i"}]}),
            of("v1", "Pod", spec={"containers": [{"name": "a", "image": "i"}, {"name": "b", "image": "i"}]}),
            {"spec.containers[1]": "add"},
            ["spec.containers[1]"],
        ),
        (
            of("rbac.authorization.k8s.io/v1", "RoleBinding", roleRef={"name": "a"}, subjects=[]),
            of("rbac.authorization.k8s.io/v1", "RoleBinding", roleRef={"name": "b"}, subjects=[{"name": "s"}]),
            {"roleRef.name": "update", "subjects[0]": "add"},
            ["roleRef.name"],
        ),
    ],
)
def test_changes_and_what_they_replace(
    old: dict[str, Any], new: dict[str, Any], paths: dict[str, str], replaced: list[str]
) -> None:
    found = changes(old, new, forced=forced_paths(new, mutable_maps=False, mutable_secrets=False))
    assert {one.path: one.kind for one in found} == paths
    assert [one.path for one in found if one.replaces] == replaced


def test_maps_and_secrets_are_changed_in_place_where_the_provider_says_so() -> None:
    assert "data" not in forced_paths(config_map(), mutable_maps=True, mutable_secrets=False)
    assert "data" in forced_paths({**config_map(), "immutable": True}, mutable_maps=True, mutable_secrets=True)
    assert forced_paths(of("v1", "Secret"), mutable_maps=True, mutable_secrets=True)[2:] == ("type",)


def test_what_the_server_adds_is_no_difference_and_what_it_leaves_out_neither() -> None:
    wanted = {**config_map(a="1"), "empty": {}, "list": [{"port": 1, "off": False}]}
    live = {**config_map(a="1"), "list": [{"port": 1, "protocol": "TCP"}], "status": {"x": 1}}
    live["metadata"] = {**live["metadata"], "uid": "u", "resourceVersion": "7"}
    assert changes(with_unshown(pruned(live, wanted), wanted, live), wanted, forced=()) == []
    changed = {**live, "data": {"a": "2"}}
    (one,) = changes(with_unshown(pruned(changed, wanted), wanted, live), wanted, forced=())
    assert one.path == "data.a"


def test_a_value_that_was_shown_and_is_gone_is_a_difference() -> None:
    wanted, live = config_map(a="1", b="2"), config_map(a="1")
    before = with_unshown(pruned(live, wanted), wanted, wanted)
    assert [one.path for one in changes(before, wanted, forced=())] == ["data.b"]


def test_a_secrets_text_is_its_data() -> None:
    found = normalized(of("v1", "Secret", stringData={"a": "x"}, data={"b": "eQ==\n"}))
    assert found["data"] == {"a": "eA==", "b": "eQ=="}
    assert "stringData" not in found


def test_secrets_stay_secret_in_the_state() -> None:
    given = of("v1", "Secret", stringData=secret({"a": "x"}))
    inputs = from_properties(given)
    live = {**of("v1", "Secret", data={"a": "eA=="}), "metadata": {"name": "x", "uid": "u"}}
    state = checkpoint(inputs, live, given, field_manager="m")
    assert is_secret(state["data"])
    assert is_secret(state["__inputs"]["stringData"])
    assert checkpointed(state) == (inputs, live)
    within = {"metadata": {"annotations": {"k": secret("v"), "open": "o"}}}
    marked = checkpoint(from_properties(within), {"metadata": {"annotations": {"k": "v"}}}, within, field_manager="m")
    assert marked["metadata"]["annotations"] == {"k": secret("v")}


def test_schemas_keys_have_dashes_on_the_server_alone() -> None:
    given = {"schema": [{"x_kubernetes_int_or_string": True}]}
    assert from_properties(given) == {"schema": [{"x-kubernetes-int-or-string": True}]}
    assert checkpoint({}, from_properties(given), {}, field_manager="m")["schema"] == given["schema"]


def test_ids() -> None:
    assert object_id(config_map()) == "n/x"
    assert object_id(of("v1", "Node")) == "x"


def test_timeouts() -> None:
    annotated = {"metadata": {"annotations": {"pulumi.com/timeoutSeconds": "7"}}}
    assert (timeout_of(3, annotated), timeout_of(0, annotated), timeout_of(0, {})) == (3, 7, 600)


@pytest.fixture(scope="module", name="plugin")
def _plugin(root: Path) -> Iterator[Any]:
    """The plugin as a process, without any cluster."""
    command = root / "lab" / "providers" / "bin" / "pulumi-resource-kubernetes"
    environment = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent"}
    with running(command, environment) as stub:
        stub.Configure(provider_pb2.ConfigureRequest(variables={}))
        yield stub


def test_without_a_cluster_everything_can_be_previewed_and_nothing_made(plugin: Any) -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+", plugin.GetPluginInfo(empty_pb2.Empty()).version)
    inputs = to_struct({**config_map(a=UNKNOWN)})
    checked = plugin.Check(provider_pb2.CheckRequest(urn=MAP, news=inputs))
    assert list(checked.failures) == []
    made = plugin.Create(provider_pb2.CreateRequest(urn=MAP, properties=checked.inputs, preview=True))
    assert from_struct(made.properties)["data"] == {"a": UNKNOWN}
    with pytest.raises(grpc.RpcError) as refused:
        plugin.Create(provider_pb2.CreateRequest(urn=MAP, properties=to_struct(config_map(a="1"))))
    said = str(refused.value.details())
    assert "ConfigMap n/x was not created: configured Kubernetes cluster is unreachable" in said
    assert "there is no kubeconfig" in said


def test_a_preview_without_a_cluster_moves_nothing_to_another_namespace(plugin: Any) -> None:
    news = to_struct({**config_map(), "metadata": {"name": "x"}})
    checked = plugin.Check(provider_pb2.CheckRequest(urn=MAP, news=news, olds=to_struct(config_map())))
    assert from_struct(checked.inputs)["metadata"]["namespace"] == "n"
    state = checkpoint(config_map(), config_map(), config_map(), field_manager="m")
    diff = plugin.Diff(provider_pb2.DiffRequest(urn=MAP, olds=to_struct(state), news=checked.inputs))
    assert diff.changes == provider_pb2.DiffResponse.DIFF_NONE


def test_names_are_made_once(plugin: Any) -> None:
    news = to_struct({**config_map(), "metadata": {}})
    first = plugin.Check(provider_pb2.CheckRequest(urn=MAP, news=news, randomSeed=b"1")).inputs
    name = from_struct(first)["metadata"]["name"]
    assert re.fullmatch(r"x-[0-9a-f]{8}", name)
    again = plugin.Check(provider_pb2.CheckRequest(urn=MAP, news=news, olds=first, randomSeed=b"2")).inputs
    assert from_struct(again)["metadata"]["name"] == name


@pytest.mark.parametrize(
    ("kind", "inputs"),
    [
        ("core/v1:ConfigMapPatch", config_map()),
        ("core/v1:ConfigMapList", config_map()),
        ("helm.sh/v3:Release", {"chart": "x"}),
    ],
)
def test_what_is_no_plain_object_is_refused_by_name(plugin: Any, kind: str, inputs: dict[str, Any]) -> None:
    with pytest.raises(grpc.RpcError) as refused:
        plugin.Check(provider_pb2.CheckRequest(urn=URN.format(kind), news=to_struct(inputs)))
    assert refused.value.code() is grpc.StatusCode.UNIMPLEMENTED
    assert kind in str(refused.value.details())
